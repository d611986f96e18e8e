"""``python -m sgl_explain.authoring sync``: what a release changed for the knowledge, most user-facing first."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from sgl_explain.authoring.coverage import Unreachable, coverage
from sgl_explain.authoring.flags import DeclaredFlag, release_flags
from sgl_explain.authoring.inventory import Kind, Saying
from sgl_explain.authoring.raw_source import RawRelease
from sgl_explain.authoring.source import Release
from sgl_explain.authoring.standing import Standing, standings
from sgl_explain.entry import Site
from sgl_explain.flags import Flag
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.release import in_range

_KINDS: Final[dict[Kind, int]] = {"parser": 0, "http": 1, "abort": 1, "raise": 2, "assert": 3}
# where what a person types or sends is checked first
_FACING: Final = ("sglang.srt.server_args", "sglang.srt.arg_groups", "sglang.srt.entrypoints", "sglang.srt.sampling")


def report(
    release: Release,
    raw: RawRelease,
    before: Release | None,
    knowledge: Knowledge,
    flags: Iterable[Flag],
    unreachable: Sequence[Unreachable] = (),
) -> Iterator[str]:
    """Yield the lines of the report on a release; ``before`` is the release that new sites are told from, if any."""
    found = [item for item in standings(knowledge, release, raw) if _is_expected(item, release)]
    yield from _entries(found, release)
    yield from _new_sites(release, before, knowledge, unreachable)
    yield from _flags(release.path, {flag.name: flag for flag in flags}, before)


def _is_expected(item: Standing, release: Release) -> bool:
    return in_range(release.number, item.entry.versions) is not False


def _entries(found: Sequence[Standing], release: Release) -> Iterator[str]:
    unchanged = sum(item.state == "unchanged" for item in found)
    yield f"{release.number}: {unchanged} of {len(found)} entries that cover this release stand in it unchanged"
    for item in found:
        match item.state:
            case "moved":
                yield f"moved     {item.entry.id}: now in {', '.join(item.now)}; add it to upstream"
            case "reworded":
                yield f"reworded  {item.entry.id}: now {item.now[0]!r} in {item.now[1]}; add a template"
            case "gone":
                yield f'gone      {item.entry.id}: end its versions with "<{release.number}"'


def _new_sites(
    release: Release, before: Release | None, knowledge: Knowledge, unreachable: Sequence[Unreachable]
) -> Iterator[str]:
    modules = {Site(name).module for entry in knowledge for name in entry.upstream if name.startswith("sglang.")}
    missing = [said for item in coverage(release, knowledge, sorted(modules), unreachable) for said in item.unexplained]
    old = _texts(before)
    new = [said for said in missing if before is None or _text(said) not in old]
    since = f" that {before.number} did not have" if before else ""
    yield f"{len(new)} sites without an entry in modules that have some{since}"
    for said in sorted(new, key=_rank):
        yield f"new       {said.module}:{said.function}:{said.lineno}  {said.kind}  {_text(said)}"


def _texts(release: Release | None) -> set[str]:
    sayings = (said for module in release.sayings_by_module.values() for said in module) if release else ()
    return {_text(said) for said in sayings}


def _text(saying: Saying) -> str:
    return saying.template or saying.source_line


def _rank(saying: Saying) -> tuple[bool, int, bool, str, int]:
    is_facing = saying.module.startswith(_FACING)
    return (not is_facing, _KINDS[saying.kind], not saying.template, saying.module, saying.lineno)


def _flags(path: Path, known: dict[str, Flag], before: Release | None) -> Iterator[str]:
    declared = {name: flag for flag in release_flags(path).server for name in flag.names}
    spellings = {name: flag for flag in known.values() for name in flag.spellings}
    yield from (f"flag new      {name}" for name in sorted(declared.keys() - spellings.keys()))
    old = {name for flag in release_flags(before.path).server for name in flag.names} if before else set()
    yield from (f"flag removed  {name}" for name in sorted(old - declared.keys()))
    for name in sorted(declared.keys() & known.keys()):
        yield from _changes(name, known[name], declared[name])


def _changes(name: str, known: Flag, declared: DeclaredFlag) -> Iterator[str]:
    choices = set(map(str, declared.choices or ())) ^ set(known.choices_in(None))
    if choices:
        yield f"flag choices  {name}: {', '.join(sorted(choices))}"
    if known.takes != declared.takes:
        yield f"flag takes    {name}: {declared.takes}, before {known.takes}"
