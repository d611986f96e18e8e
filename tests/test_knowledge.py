"""The knowledge that ships: fresh, found by its own messages, its templates true to their values."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import sgl_explain
from sgl_explain.authoring.compile import compiled
from sgl_explain.entry import Entry, template_of
from sgl_explain.entry_files import read_entries
from sgl_explain.evidence import Context, Evidence, Raised
from sgl_explain.explanation import explained, explanation_of
from sgl_explain.render.page import full_html
from sgl_explain.render.plain import full_text
from sgl_explain.template import Placeholder, Template

DATA = Path(sgl_explain.__file__).parent / "data"
ENTRIES = {entry.id: entry for entry in read_entries(DATA / "entries")}
of_every_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def test_the_compiled_file_is_what_the_sources_say():
    assert (DATA / "knowledge.jsonl").read_text(encoding="utf-8") == compiled(DATA / "entries")


def test_what_ships_is_every_entry_without_what_only_authors_need():
    assert list(sgl_explain.knowledge()) == [replace(entry, tests=(), live=()) for entry in ENTRIES.values()]


@of_every_entry
def test_an_entry_is_found_by_its_own_messages(entry: Entry):
    for test in entry.tests:
        if test.traceback:
            explanation = sgl_explain.diagnose(test.traceback)
        else:
            types = tuple(part for part in (test.type or next(iter(entry.raises), ""),) if part)
            evidence = Evidence((Raised(types, test.message),), Context(deliberate=True))
            explanation = explained(evidence, sgl_explain.knowledge())

        assert explanation is not None, test
        assert explanation.id == entry.id, test
        assert explanation.confidence == "exact" or (not test.traceback and entry.shares_words(test.message)), test


def value_for(hole: Placeholder, random: Random) -> str:
    if hole.choices:
        return random.choice(hole.choices)
    match hole.kind:
        case "int":
            return str(random.randint(0, 10**6))
        case "number":
            return f"{random.uniform(0, 10**6):.2f}"
        case _:
            return "".join(random.choices("abcXYZ0123456789_", k=random.randint(1, 12)))


@of_every_entry
def test_a_template_gives_back_what_it_was_filled_with(entry: Entry):
    # hypothesis nests its settings once a test, and thousands of them are too deep for it
    random = Random(entry.id)
    for template in map(template_of, entry.templates):
        holes = [part for part in template.parts if isinstance(part, Placeholder)]
        for _ in range(10):
            values = {hole.name: value_for(hole, random) for hole in holes}
            match = template.match(template.fill(values))

            assert match is not None, (template, values)
            assert dict(match.values) == values


@of_every_entry
def test_every_page_can_be_shown(entry: Entry):
    page = explanation_of(entry)

    assert page.title in full_text(page)
    assert full_html(page)
    assert json.dumps(page.to_dict())


@of_every_entry
def test_no_text_is_left_unfilled(entry: Entry):
    for test in entry.tests:
        explanation = sgl_explain.diagnose(test.traceback or test.message)
        told = "" if explanation is None else " ".join((explanation.meaning, *(fix.do for fix in explanation.fixes)))

        assert not any(f"{{{name}}}" in told for text in entry.templates for name in Template.parse(text).names)


def test_explanations_are_picklable():
    explanation = sgl_explain.diagnose("top_p must be in (0, 1], got 3.")

    assert pickle.loads(pickle.dumps(explanation)) == explanation


@pytest.mark.parametrize("seed_id", ["20d1a44918840ac8", "055d24a47aa5536b", "f852b34a07a7229c", "6fbbc2a22b7ee5a2",
                                     "8f4be1a57d2ac272", "aaead811d0809fef"])  # fmt: skip
def test_the_ids_of_the_index_it_grew_from_are_aliases(seed_id: str):
    assert sgl_explain.knowledge().get(seed_id).id
