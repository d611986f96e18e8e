"""The rule that fixes speak only of server flags which a release of their entry's versions has.

Exemptions stand in ``exemptions.toml`` beside the folder of entries, by id: ``flags`` and the ``reason``.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from sgl_explain.choosing import choice_rule
from sgl_explain.entry import Entry, EntryFix
from sgl_explain.entry_files import read_toml
from sgl_explain.flags import flag_called, known_flags, known_releases
from sgl_explain.release import in_range

if TYPE_CHECKING:
    from sgl_explain.authoring.check import Shelf

EXEMPTIONS: Final = "exemptions.toml"
_OF_EVERY_PARSER: Final = ("--help",)
_OTHER_PROGRAMS: Final = ("sglang_router", "sglang.multimodal_gen")  # their flags are not the server's
# A flag in a sentence; one that a * or … follows stands for several.
_FLAG: Final = re.compile(r"(?<![\w-])--[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?![\w*…-])")


def flags_of_fixes(shelf: "Shelf") -> Iterator[tuple[str, str]]:
    """Every flag that a fix sets, removes, chooses or names in its text exists for the versions it speaks of."""
    exempt, problems = _exemptions(shelf)
    yield from problems
    for entry in shelf.knowledge:
        unknown = {} if _speaks_of_others(entry) else _unknown_flags(entry)
        excused = exempt.pop(entry.id, frozenset())
        yield from ((entry.id, problem) for flag, problem in unknown.items() if flag not in excused)
        yield from ((entry.id, _needless(flag)) for flag in sorted(excused - unknown.keys()))
    yield from ((entry_id, f"{EXEMPTIONS}: no entry is called {entry_id}") for entry_id in exempt)


def flags_in(fix: EntryFix) -> tuple[str, ...]:
    """Return the flags that a fix sets, removes, writes instead, chooses or names in its text; facts are none."""
    rules = [rule.flag for text in fix.choose.values() if (rule := choice_rule(text))]
    named = (*fix.set, *fix.remove, *fix.rename.values(), *fix.choose, *rules, *_FLAG.findall(fix.do))
    return tuple(name for name in dict.fromkeys(named) if name not in _OF_EVERY_PARSER and "{" not in name)


def _speaks_of_others(entry: Entry) -> bool:
    return entry.upstream[:1] != () and entry.upstream[0].startswith(_OTHER_PROGRAMS)


def _unknown_flags(entry: Entry) -> dict[str, str]:
    """The problem with each flag that the releases of some fix do not have."""
    return {
        name: f"fix {number}: {problem}"
        for number, fix in enumerate(entry.fixes, start=1)
        for name in flags_in(fix)
        if (problem := _problem(name, ",".join(filter(None, (entry.versions, fix.when.get("release"))))))
    }


def _problem(name: str, versions: str) -> str:
    flag = known_flags().get(name)
    if flag is None:
        meant = flag_called(name)
        return f"{name} is no server flag" + (f"; it is short for {meant.name}" if meant else "")
    if any(flag.has(name, release) for release in _releases_in(versions)):
        return ""
    return f"{name}: no release in {versions} has it, only {flag.first_with(name)} to {flag.last_with(name)}"


def _releases_in(versions: str) -> tuple[str, ...]:
    """The releases looked at in a range; all of them where none is in it, since then nothing is known."""
    return tuple(release for release in known_releases() if in_range(release, versions)) or known_releases()


def _exemptions(shelf: "Shelf") -> tuple[dict[str, frozenset[str]], list[tuple[str, str]]]:
    """The exempted flags by id, and what is wrong with the exemptions themselves."""
    file = shelf.root.parent / EXEMPTIONS
    exempt: dict[str, frozenset[str]] = {}
    problems: list[tuple[str, str]] = []
    for entry_id, table in read_toml(file).items() if file.exists() else ():
        match table:
            case {"flags": [*flags], "reason": str() as reason, **rest} if flags and reason.strip() and not rest:
                exempt[entry_id] = frozenset(map(str, flags))
            case _:
                problems.append((entry_id, f'{EXEMPTIONS}: write flags = ["--x"] and reason = "…"'))
    return exempt, problems


def _needless(flag: str) -> str:
    return f"{EXEMPTIONS}: {flag} is exempted, but needs it no longer"
