"""The bundled facts about server flags are found by every spelling."""

import json
from pathlib import Path

import pytest

from sgl_explain.flags import flag_called, is_negative, known_flags
from sgl_explain.release import parse_release

DATA = Path(__file__).resolve().parent.parent / "src" / "sgl_explain" / "data"


def test_every_spelling_leads_to_the_same_flag():
    flags = known_flags()

    assert flags["--tp-size"] is flags["--tensor-parallel-size"]
    assert flags["--tp-size"].spellings == ("--tp-size", "--tensor-parallel-size")


@pytest.mark.parametrize(
    ("name", "takes"), [("--tp-size", "value"), ("--enable-lora", "nothing"), ("--lora-paths", "values")]
)
def test_a_flag_knows_what_it_takes(name: str, takes: str):
    assert known_flags()[name].takes == takes


def test_a_flag_knows_its_choices_and_the_releases_that_have_it():
    flag = known_flags()["--nsa-prefill-backend"]

    assert flag.choices is not None
    assert "flashmla_sparse" in flag.choices
    assert parse_release(flag.last) < parse_release("0.5.23")


@pytest.mark.parametrize(
    ("word", "name"),
    [("--tp", "--tp-size"), ("--dp", "--dp-size"), ("--ep", "--ep-size"), ("--model", "--model-path")],
)
def test_what_argparse_takes_for_a_flag_is_that_flag(word: str, name: str):
    assert flag_called(word) is known_flags()[name]


@pytest.mark.parametrize("word", ["--speculative", "--not-a-flag", "--", "model", ""])
def test_other_words_are_no_flag(word: str):
    assert flag_called(word) is None


@pytest.mark.parametrize(("word", "negative"), [("--no-dllm-fdfo", True), ("--dllm-fdfo", False)])
def test_a_negative_spelling_is_told_from_the_positive_one(word: str, negative: bool):
    assert is_negative(word, known_flags()[word]) is negative


def test_the_bundled_flags_are_sorted_and_no_spelling_belongs_to_two():
    lines = [json.loads(line) for line in (DATA / "flags.jsonl").read_text(encoding="utf-8").splitlines()]
    spellings = [name for line in lines for name in (line["flag"], *line["aliases"])]

    assert [line["flag"] for line in lines] == sorted(line["flag"] for line in lines)
    assert len(spellings) == len(set(spellings))
