"""Fixes with one failure's values: which apply, in which order, and the launch command that each leads to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sgl_explain.choosing import choices_for
from sgl_explain.command import Change, corrected, shell_text
from sgl_explain.entry import Entry, EntryFix
from sgl_explain.wording import Circumstances, condition_text, filled, filled_code, holds

WORD: Final = "word"
"""The fact that tells the words of one error apart: each is to be mended, by one of its fixes."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy with this failure's values.

    ``applicability`` is ``safe`` (nothing is lost), ``unsafe`` (something is given up; ``do`` says what) or
    ``display`` (a hint for a person). ``condition`` says when it applies, where that could not be decided.
    ``command`` is the whole corrected launch command, where the failing one is known. ``word`` is the word it mends
    where the error is about several.
    """

    do: str
    applicability: str
    condition: str = ""
    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    code: str = ""
    command: str = ""
    word: str = ""


def fixes_for(entry: Entry, circumstances: Circumstances) -> tuple[Fix, ...]:
    """Return the fixes that may apply, in the author's order, each once.

    Where an error is about several words, they stand word by word, and a command mends the other words too.
    """
    alternatives_by_word = _by_word(circumstances)
    by_word = [
        [replace(fix, word=word if len(alternatives_by_word) > 1 else "") for fix in _fixes(entry, alternatives)]
        for word, alternatives in alternatives_by_word.items()
    ]
    command = circumstances.context.command
    told: dict[tuple[str, str], Fix] = {}
    for fixes in by_word:
        others = [_first_change(rest) for rest in by_word if rest is not fixes]
        for fix in fixes:
            told.setdefault((fix.do, str(_change(fix))), _with_command(fix, others, command))
    return tuple(told.values())


def _first_change(fixes: Sequence[Fix]) -> Change:
    changes = map(_change, fixes)
    return next((change for change in changes if change != Change()), Change())


def _by_word(circumstances: Circumstances) -> dict[str, list[Circumstances]]:
    """The circumstances of each word; several of one word are alternatives."""
    by_word: dict[str, list[Circumstances]] = {}
    for facts in circumstances.about or ({},):
        by_word.setdefault(facts.get(WORD, ""), []).append(circumstances.knowing(facts))
    return by_word


def _fixes(entry: Entry, alternatives: Sequence[Circumstances]) -> list[Fix]:
    """The fixes that may apply; those for want of a better one only where there is none."""
    better = list(_told((fix for fix in entry.fixes if not fix.otherwise), alternatives))
    is_page = alternatives[0].captures is None
    return (
        better if better and not is_page else [*better, *_told((f for f in entry.fixes if f.otherwise), alternatives)]
    )


def _told(fixes: Iterable[EntryFix], alternatives: Sequence[Circumstances]) -> Iterator[Fix]:
    for fix in fixes:
        for circumstances in alternatives:
            if holds(fix.when, circumstances) is not False:
                tellings = (_fix(*chosen) for chosen in _chosen(fix, circumstances))
                yield from (told for told in tellings if told)


def _with_command(fix: Fix, others: Sequence[Change], command: Sequence[str]) -> Fix:
    changed = corrected(command, _change(fix)) if command else ()
    if changed == tuple(command):
        return fix
    for other in others:
        changed = corrected(changed, other)
    return replace(fix, command=shell_text(changed))


def _change(fix: Fix) -> Change:
    return Change(fix.set, fix.remove, fix.rename)


def _chosen(fix: EntryFix, circumstances: Circumstances) -> Iterator[tuple[EntryFix, Circumstances]]:
    """The fix as it is, or once for each value it offers, which the launch command decides."""
    if not fix.choose:
        yield fix, circumstances
    for flag, value in choices_for(fix.choose, circumstances.context.command):
        values = {**circumstances.values, "choice": value}
        yield replace(fix, set={**fix.set, flag: value}), replace(circumstances, values=values)


def _fix(fix: EntryFix, circumstances: Circumstances) -> Fix | None:
    """One fix with its values; None where a value that it needs is not known."""
    values = circumstances.values
    do, code, run = filled(fix.do, values), filled_code(fix.code, values), filled_code(fix.run, values)
    flags, env, renamed = (_filled_table(table, values) for table in (fix.set, fix.env, fix.rename))
    removed = _filled_table(dict.fromkeys(fix.remove, ""), values)
    if code is None or run is None or flags is None or env is None or renamed is None or removed is None or not do:
        return None
    condition = condition_text(fix.when, circumstances)
    return Fix(do, fix.applicability, condition, flags, tuple(removed), renamed, env, run, code)


def _filled_table(table: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str] | None:
    """A table with its values, in keys as well; None where one is not known."""
    pairs = [(filled_code(name, values), filled_code(value, values) if value else "") for name, value in table.items()]
    known = {name: value for name, value in pairs if name is not None and value is not None}
    return known if len(known) == len(table) else None
