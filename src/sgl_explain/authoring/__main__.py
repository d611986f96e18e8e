"""``python -m sgl_explain.authoring``: check, compile, new, inventory, flags, coverage, sync, versions."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgl_explain.errors import SglExplainError

if TYPE_CHECKING:
    from sgl_explain.knowledge_base import Knowledge

_SOURCE: Final = "RELEASE|WHEEL|FOLDER"
DATA: Final = Path(__file__).resolve().parent.parent / "data"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one authoring command; return 0 when all is well, 1 when problems were found, 2 for bad usage."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.command(arguments))
    except SglExplainError as error:
        print(error, file=sys.stderr)
        return 1


def _check(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.check import problems_in
    from sgl_explain.authoring.compile import is_fresh

    extra = []
    if arguments.sglang:
        from sgl_explain.authoring.proof import stands_in

        extra = [stands_in(arguments.sglang, cache=arguments.cache)]
    found = problems_in(arguments.entries, extra)
    is_ours = arguments.entries == DATA / "entries"
    if not found and is_ours and not is_fresh(arguments.entries, DATA / "knowledge.jsonl"):
        found = ["knowledge.jsonl: is not what the sources say; run python -m sgl_explain.authoring compile"]
    print("\n".join(found) if found else f"no problems in {arguments.entries}: {_figures(arguments.entries)}")
    return 1 if found else 0


def _figures(folder: Path) -> str:
    from sgl_explain.entry_files import read_entries

    entries = read_entries(folder)
    figures = (
        (len(entries), "entries"),
        (sum(len(entry.templates) for entry in entries), "templates"),
        (sum(len(entry.sites) for entry in entries), "raise sites"),
        (sum(entry.is_third_party for entry in entries), "entries of third parties"),
        (sum(bool(entry.live) for entry in entries), "entries fired on the real SGLang"),
        (sum(len(entry.live) for entry in entries), "live cases"),
    )
    return ", ".join(f"{number} {name}" for number, name in figures)


def _compile(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.compile import compiled

    text = compiled(arguments.entries)
    (DATA / "knowledge.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(text.splitlines())} entries written")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.scaffold import scaffold

    print(scaffold(arguments.message if arguments.message != "-" else sys.stdin.read()))
    return 0


def _inventory(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.inventory import main as inventory

    return inventory(arguments.rest)


def _flags(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.flags import flag_lines, release_flags, successors_by_hand
    from sgl_explain.authoring.source import DEFAULT_CACHE, located, number_of

    paths = [located(name, arguments.cache or DEFAULT_CACHE) for name in arguments.releases]
    flags_by_release = {number_of(path): release_flags(path) for path in paths}
    text = flag_lines(flags_by_release, successors_by_hand(DATA / "flag_successors.toml"))
    arguments.output.write_text(text, encoding="utf-8")
    print(f"{len(text.splitlines()) - 1} flags of {len(paths)} releases written")
    return 0


def _coverage(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.coverage import ARGUMENT_CHECKS, as_lines, as_table, coverage, read_unreachable
    from sgl_explain.authoring.source import DEFAULT_CACHE, read_release

    release = read_release(arguments.sglang, arguments.cache or DEFAULT_CACHE)
    unreachable = read_unreachable(arguments.entries.parent / "unreachable.toml")
    found = coverage(release, _knowledge(arguments.entries), arguments.module or ARGUMENT_CHECKS, unreachable)
    print("\n".join(as_lines(found) if arguments.missing else as_table(found)))
    return 0


def _sync(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.coverage import read_unreachable
    from sgl_explain.authoring.raw_source import read_raw
    from sgl_explain.authoring.source import DEFAULT_CACHE, read_release
    from sgl_explain.authoring.sync import report
    from sgl_explain.flags import known_flags

    cache = arguments.cache or DEFAULT_CACHE
    release, raw = read_release(arguments.sglang, cache), read_raw(arguments.sglang, cache)
    before = read_release(arguments.since, cache) if arguments.since else None
    knowledge, flags = _knowledge(arguments.entries), known_flags().values()
    unreachable = read_unreachable(arguments.entries.parent / "unreachable.toml")
    print("\n".join(report(release, raw, before, knowledge, flags, unreachable)))
    return 0


def _versions(arguments: argparse.Namespace) -> int:
    from sgl_explain.authoring.check import read_shelf
    from sgl_explain.authoring.raw_source import read_raw
    from sgl_explain.authoring.source import DEFAULT_CACHE
    from sgl_explain.authoring.versions import as_lines, found_in, write

    shelf = read_shelf(arguments.entries)
    found = found_in(shelf, (read_raw(name, arguments.cache or DEFAULT_CACHE) for name in arguments.releases))
    wrong = list(as_lines(found))
    print("\n".join([*wrong, f"{len(found) - len(wrong)} of {len(found)} ranges are what the sources say"]))
    if arguments.write:
        print(f"{write(shelf, found)} written")
        return 0
    return 1 if wrong else 0


def _knowledge(folder: Path) -> "Knowledge":
    from sgl_explain.entry_files import read_entries
    from sgl_explain.knowledge_base import Knowledge

    return Knowledge(read_entries(folder))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sgl_explain.authoring", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="report every problem of the entries")
    check.add_argument(
        "--sglang", action="append", metavar=_SOURCE,
        help="also prove templates, sites and symbols against the source of a release; may be repeated",
    )  # fmt: skip
    _add_folders(check)
    check.set_defaults(command=_check)
    compile_ = commands.add_parser("compile", help="write data/knowledge.jsonl from the TOML sources")
    compile_.add_argument("--entries", type=Path, default=DATA / "entries", help="the folder of TOML files")
    compile_.set_defaults(command=_compile)
    new = commands.add_parser("new", help="scaffold an entry from a message or a traceback")
    new.add_argument("message", help="the text as it was seen; - reads standard input")
    new.set_defaults(command=_new)
    inventory = commands.add_parser("inventory", help="list what a release can say to a user", add_help=False)
    inventory.add_argument("rest", nargs=argparse.REMAINDER)
    inventory.set_defaults(command=_inventory)
    flags = commands.add_parser("flags", help="write data/flags.jsonl from the source of releases")
    flags.add_argument("releases", nargs="+", metavar=_SOURCE, help="all that the file shall tell of")
    flags.add_argument("--cache", type=Path, help="where downloaded releases are kept")
    flags.add_argument("--output", type=Path, default=DATA / "flags.jsonl", help="the file to write")
    flags.set_defaults(command=_flags)
    coverage = commands.add_parser("coverage", help="how much of what a release can say is explained, by module")
    coverage.add_argument("--sglang", required=True, metavar=_SOURCE, help="the release")
    coverage.add_argument("--module", action="append", help="modules (sglang.lang.*) instead of the argument checks")
    coverage.add_argument("--missing", action="store_true", help="list the reachable sites without an entry instead")
    _add_folders(coverage)
    coverage.set_defaults(command=_coverage)
    sync = commands.add_parser("sync", help="what a release changed for the entries, the flags, and what it can say")
    sync.add_argument("--sglang", required=True, metavar=_SOURCE, help="the release")
    sync.add_argument("--since", metavar=_SOURCE, help="an older release: list only sites and flags it did not have")
    _add_folders(sync)
    sync.set_defaults(command=_sync)
    versions = commands.add_parser("versions", help="compare the entries' versions with the sources of releases")
    versions.add_argument("releases", nargs="+", metavar=_SOURCE, help="all releases since the oldest one covered")
    versions.add_argument("--write", action="store_true", help="put what the sources say into the entry files")
    _add_folders(versions)
    versions.set_defaults(command=_versions)
    return parser


def _add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=Path, default=DATA / "entries", help="the folder of TOML files")
    parser.add_argument("--cache", type=Path, help="where downloaded releases are kept")


if __name__ == "__main__":
    sys.exit(main())
