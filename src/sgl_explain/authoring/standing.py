"""How the entries stand in a release: which of their texts and sites it still has, and where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from sgl_explain.authoring.inventory import Saying
from sgl_explain.authoring.proof import has_site, says
from sgl_explain.authoring.source import Release, sample_of
from sgl_explain.entry import Entry, Site
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.release import parse_release

State = Literal["unchanged", "moved", "reworded", "gone"]
# A text this specific (letters and digits of its literals) is the same error wherever it stands.
_MOVED_WEIGHT: Final = 24
_REWORDED_RATIO: Final = 68.0


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry in a release: ``unchanged``, or ``moved`` to other modules, ``reworded`` (what it says now), ``gone``."""

    entry: Entry
    state: State
    now: tuple[str, ...] = ()
    """The modules it moved to, or the new wording and its place."""

    @property
    def is_there(self) -> bool:
        """Whether the release has the error in the entry's words."""
        return self.state in ("unchanged", "moved")


def standings(knowledge: Knowledge, release: Release) -> tuple[Standing, ...]:
    """Return how each entry about SGLang's own errors stands in a release; third parties' are left out."""
    modules_by_template = _modules_by_template(knowledge, release)
    own = (entry for entry in knowledge if entry.upstream[0].startswith("sglang."))
    return tuple(_standing(entry, release, modules_by_template, knowledge) for entry in own)


def _standing(
    entry: Entry, release: Release, modules_by_template: Mapping[str, set[str]], knowledge: Knowledge
) -> Standing:
    modules = {module for text in entry.templates for module in modules_by_template[text]}
    at_home = any(_is_home(entry, module) for module in modules) or any(has_site(site, release) for site in entry.sites)
    if at_home or any(says(text, entry, release) for text in entry.templates):
        return Standing(entry, "unchanged")
    if modules:
        return Standing(entry, "moved", tuple(sorted(modules)))
    reworded = _nearest_wording(entry, release, knowledge)
    return Standing(entry, "reworded", reworded) if reworded else Standing(entry, "gone")


def _modules_by_template(knowledge: Knowledge, release: Release) -> Mapping[str, set[str]]:
    """Which modules say what each template says: at home whatever its weight, elsewhere only what is unmistakable."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, sayings in release.sayings_by_module.items():
        for sample in dict.fromkeys(map(sample_of, sayings)):
            for item in knowledge.templates_for(sample) if sample else ():
                tells = item.template.weight >= _MOVED_WEIGHT or _is_home(item.entry, module)
                if tells and item.template.match(sample or ""):
                    found[item.template.text].add(module)
    return found


def _is_home(entry: Entry, module: str) -> bool:
    return any(fnmatchcase(module, Site(name).module) for name in entry.upstream)


def _nearest_wording(entry: Entry, release: Release, knowledge: Knowledge) -> tuple[str, ...]:
    """What a module of the entry says instead, most alike, where no entry accounts for that yet."""
    from rapidfuzz import fuzz, process  # waits: only texts that are gone are searched for

    from sgl_explain.template import Template

    candidates = {
        saying.template: saying
        for name in release.sayings_by_module
        if _is_home(entry, name)
        for saying in release.sayings_by_module[name]
        if saying.template and not knowledge.templates_for(sample_of(saying) or "")
    }
    literals = {text: " ".join(text.split()) for text in candidates}
    best = max(
        (
            found
            for text in entry.templates
            if (found := process.extractOne(Template.parse(text).literals, literals, scorer=fuzz.ratio)) is not None
        ),
        key=lambda found: found[1],
        default=None,
    )
    if best is None or best[1] < _REWORDED_RATIO:
        return ()
    saying = candidates[best[2]]
    return (best[2], f"{saying.module}:{saying.function}")


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


def unexplained_in_covered(
    knowledge: Knowledge, found: Iterable[tuple[str, tuple[Saying, ...]]]
) -> Iterator[Saying]:
    """Yield the sayings of modules that some entry names, of those that have no entry."""
    named = {Site(name).module for entry in knowledge for name in entry.upstream}
    for module, sayings in found:
        if any(fnmatchcase(module, name) for name in named):
            yield from sayings
