"""How much of what a release can say the knowledge explains: explained, reachable and all sites, by module.

A site counts when it ends a launch or a request: raises, asserts, HTTP errors, aborts and argparse errors. One that no
user can reach is named, with the reason, in ``data/unreachable.toml``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from sgl_explain.authoring.inventory import Kind, Saying
from sgl_explain.authoring.source import Release, as_template, sample_of
from sgl_explain.entry import Entry, Site
from sgl_explain.entry_files import read_toml
from sgl_explain.errors import KnowledgeError
from sgl_explain.evidence import Context, Evidence, Frame, Raised
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.matching import judge

ENDING: Final[tuple[Kind, ...]] = ("raise", "assert", "http", "abort", "parser")
ARGUMENT_CHECKS: Final = ("sglang.srt.arg_groups.*", "sglang.srt.server_args")


@dataclass(frozen=True, slots=True)
class Coverage:
    """The sites of one module: how many have an entry, how many a user can reach, and how many there are."""

    module: str
    unexplained: tuple[Saying, ...]
    """One saying of each reachable site without an entry."""
    reachable: int
    all: int

    @property
    def explained(self) -> int:
        """How many of the reachable sites have an entry."""
        return self.reachable - len(self.unexplained)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Sites that no user can reach: a function (``*`` matches any); ``line`` begins its source line or its text."""

    upstream: str
    reason: str
    line: str = ""

    def holds(self, saying: Saying) -> bool:
        """Whether it names the site of this saying."""
        place = f"{saying.module}:{saying.function}"
        return fnmatchcase(place, self.upstream) and (
            saying.source_line.startswith(self.line) or (saying.template or "").startswith(self.line)
        )


def read_unreachable(file: Path) -> tuple[Unreachable, ...]:
    """Read ``unreachable.toml``; raises KnowledgeError naming what is wrong in it."""
    tables = read_toml(file).get("unreachable", []) if file.exists() else []
    try:
        return tuple(Unreachable(**table) for table in tables)  # type: ignore[attr-defined]  # checked by the call
    except TypeError as error:
        raise KnowledgeError([f"{file.name}: {error}; each table has upstream, reason and perhaps line"]) from None


def coverage(
    release: Release, knowledge: Knowledge, modules: Sequence[str], unreachable: Sequence[Unreachable] = ()
) -> tuple[Coverage, ...]:
    """Return the coverage of every module whose name matches one of the patterns and that can end anything."""
    names = (name for name in sorted(release.sayings_by_module) if any(fnmatchcase(name, one) for one in modules))
    found = (_of_module(name, release.sayings_by_module[name], knowledge, unreachable) for name in names)
    return tuple(item for item in found if item.all)


def _of_module(
    module: str, sayings: Iterable[Saying], knowledge: Knowledge, unreachable: Sequence[Unreachable]
) -> Coverage:
    sites = _sites(sayings)
    lacking = [said for site in sites if (said := next((one for one in site if not explains(knowledge, one)), None))]
    # what has an entry is reached by somebody, whatever a wide pattern of the list takes in
    unexplained = tuple(said for said in lacking if not any(item.holds(said) for item in unreachable))
    return Coverage(module, unexplained, len(sites) - len(lacking) + len(unexplained), len(sites))


def _sites(sayings: Iterable[Saying]) -> list[list[Saying]]:
    """The sayings of each statement that ends something; what an abstract method raises is none."""
    by_site: dict[tuple[int, str], list[Saying]] = defaultdict(list)
    for saying in sayings:
        if saying.kind in ENDING and not (saying.exception == "NotImplementedError" and not saying.template):
            by_site[saying.lineno, saying.function].append(saying)
    return list(by_site.values())


def explains(knowledge: Knowledge, saying: Saying) -> bool:
    """Tell whether an entry that names the module would be shown for what a site says.

    A made-up value fills each hole of the text; an entry that wants certain values there has them in its tests.
    """
    verdict = judge(Evidence((_raised(saying),), Context(sglang_in_picture=True)), knowledge).verdict
    if verdict is not None and verdict.confidence != "similar" and _is_home(verdict.entry, saying):
        return True
    said = as_template(saying.template) if saying.template else None
    return said is not None and len(said.words) > 1 and any(said.match(text) for text in _tested(knowledge, saying))


def _tested(knowledge: Knowledge, saying: Saying) -> Iterator[str]:
    """The tests of the entries that name the module: texts which those entries are shown for, as the check proves."""
    for entry in knowledge:
        if not entry.is_third_party and _is_home(entry, saying):
            yield from (test.message for test in entry.tests if test.message)


def _raised(saying: Saying) -> Raised:
    frames = [Frame(saying.module, saying.function.rpartition(".")[2], saying.source_line)]
    if saying.via:
        frames.append(Frame(Site(saying.via).module, Site(saying.via).function))
    types = (saying.exception,) if saying.exception and saying.kind in ("raise", "assert") else ()
    return Raised(types, sample_of(saying) or "", tuple(frames) if types else ())


def _is_home(entry: Entry, saying: Saying) -> bool:
    named = (*entry.upstream, *(site.upstream for site in entry.sites))
    return entry.is_third_party or any(fnmatchcase(saying.module, Site(name).module) for name in named)


def as_table(found: Iterable[Coverage]) -> Iterator[str]:
    """Yield the report: a line for each module, least explained first, and their sum."""
    rows = sorted(found, key=lambda item: (item.explained - item.reachable, item.module))
    width = max((len(item.module) for item in rows), default=0)
    yield f"{'module':{width}}  explained  reachable   all"
    for item in rows:
        yield f"{item.module:{width}}  {item.explained:9}  {item.reachable:9}  {item.all:4}"
    explained, reachable, all_ = (
        sum(getattr(item, name) for item in rows) for name in ("explained", "reachable", "all")
    )
    share = f"{explained / reachable:.0%}" if reachable else "none"
    yield f"{'together':{width}}  {explained:9}  {reachable:9}  {all_:4}   ({share} of the reachable explained)"


def as_lines(found: Iterable[Coverage]) -> Iterator[str]:
    """Yield the reachable sites without an entry, one a line: where, what kind, what it says."""
    for item in found:
        for said in item.unexplained:
            yield f"{said.module}:{said.function}:{said.lineno}  {said.kind}  {said.template or said.source_line}"
