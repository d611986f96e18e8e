"""How the entries stand in a release: which of their texts and sites it still has, and where."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from sgl_explain.authoring.inventory import Saying
from sgl_explain.authoring.raw_source import RawRelease
from sgl_explain.authoring.source import Release, as_template, sample_of
from sgl_explain.entry import Entry, Site
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.release import parse_release
from sgl_explain.template import Template

State = Literal["unchanged", "moved", "reworded", "gone"]
_REWORDED_RATIO: Final = 68.0


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry in a release: ``unchanged``, ``moved`` to other modules, ``reworded``, or ``gone``."""

    entry: Entry
    state: State
    now: tuple[str, ...] = ()
    """The modules it moved to, or the new wording and its place."""


def is_there(entry: Entry, release: RawRelease) -> bool:
    """Tell whether a release has one of an entry's templates or sites, wherever the code stands by now."""
    return any(release.has_site(site) for site in entry.sites) or bool(_modules(entry, release))


def standings(knowledge: Knowledge, release: Release, raw: RawRelease) -> tuple[Standing, ...]:
    """Return how each entry about SGLang's own errors stands in a release; third parties' are left out."""
    return tuple(_standing(entry, release, raw, knowledge) for entry in knowledge if is_own(entry))


def is_own(entry: Entry) -> bool:
    """Tell whether an entry is about an error that SGLang itself raises."""
    return entry.upstream[0].startswith("sglang.")


def _standing(entry: Entry, release: Release, raw: RawRelease, knowledge: Knowledge) -> Standing:
    modules = _modules(entry, raw)
    if any(_is_home(entry, module) for module in modules) or any(raw.has_site(site) for site in entry.sites):
        return Standing(entry, "unchanged")
    if modules:
        return Standing(entry, "moved", tuple(sorted(modules)))
    reworded = _nearest_wording(entry, release, knowledge)
    return Standing(entry, "reworded", reworded) if reworded else Standing(entry, "gone")


def _modules(entry: Entry, release: RawRelease) -> frozenset[str]:
    return frozenset(module for text in entry.templates for module in release.modules_saying(entry, text))


def _is_home(entry: Entry, module: str) -> bool:
    return any(fnmatchcase(module, Site(name).module) for name in entry.upstream)


def _nearest_wording(entry: Entry, release: Release, knowledge: Knowledge) -> tuple[str, ...]:
    """What a module of the entry says instead, most alike, where no entry accounts for that yet."""
    from rapidfuzz import fuzz, process  # waits: only texts that are gone are searched for

    sayings = {said.template: said for said in _unclaimed(entry, release, knowledge) if said.template}
    literals = {text: template.literals for text in sayings if (template := as_template(text))}
    wordings = (
        process.extractOne(Template.parse(text).literals, literals, scorer=fuzz.ratio) for text in entry.templates
    )
    best = max((found for found in wordings if found), key=lambda found: found[1], default=None)
    if best is None or best[1] < _REWORDED_RATIO:
        return ()
    saying = sayings[best[2]]
    return (best[2], f"{saying.module}:{saying.function}")


def _unclaimed(entry: Entry, release: Release, knowledge: Knowledge) -> Iterator[Saying]:
    for module in (name for name in release.sayings_by_module if _is_home(entry, name)):
        for saying in release.sayings_by_module[module]:
            sample = sample_of(saying) or ""
            if not any(item.template.match(sample) for item in knowledge.templates_for(sample)):
                yield saying


def range_over(is_there_by_release: Mapping[str, bool]) -> str | None:
    """Return the range of releases in which an error stands, as ``versions`` says it; None if it stands in none.

    A release without it between two that have it counts as one that has it.
    """
    ordered = sorted(is_there_by_release, key=lambda number: parse_release(number) or ((), 0))
    having = [number for number in ordered if is_there_by_release[number]]
    if not having:
        return None
    after = ordered[ordered.index(having[-1]) + 1 :]
    return f">={having[0]}" + (f",<{after[0]}" if after else "")
