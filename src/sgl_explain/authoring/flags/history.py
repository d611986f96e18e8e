"""Flags over several releases: one record of ``data/flags.jsonl`` for each flag, whatever a release calls it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sgl_explain.authoring.flags.declared import NOT_KNOWN, DeclaredFlag
from sgl_explain.release import parse_release


@dataclass(slots=True)
class _History:
    """One flag as the releases declare it, the newest first."""

    seen: list[tuple[str, DeclaredFlag]] = field(default_factory=list)

    def record(self) -> dict[str, object]:
        """Return what the newest release says, every spelling of any release, and the first and the last of them."""
        names = list(dict.fromkeys(name for _, flag in self.seen for name in flag.names))
        (last, newest), (first, _) = self.seen[0], self.seen[-1]
        choices = {} if newest.choices is None else {"choices": list(newest.choices)}
        default = {} if newest.default is NOT_KNOWN else {"default": newest.default}
        told = {"flag": names[0], "aliases": names[1:], "takes": newest.takes, **choices, **default}
        return {**told, "first": first, "last": last}


def flag_lines(flags_by_release: Mapping[str, Iterable[DeclaredFlag]]) -> str:
    """Return the flags of some releases as JSON Lines, sorted by their main spelling in the newest release."""
    records = [history.record() for history in _histories(flags_by_release)]
    ordered = sorted(records, key=lambda record: str(record["flag"]))
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in ordered)


def _histories(flags_by_release: Mapping[str, Iterable[DeclaredFlag]]) -> list[_History]:
    """A flag belongs to the history that has one of its spellings in a newer release already."""
    histories: list[_History] = []
    history_by_name: dict[str, _History] = {}
    for number in _newest_first(flags_by_release):
        for flag in flags_by_release[number]:
            history = next((history_by_name[name] for name in flag.names if name in history_by_name), None)
            if history is None:
                histories.append(history := _History())
            history.seen.append((number, flag))
            for name in flag.names:
                history_by_name.setdefault(name, history)
    return histories


def _newest_first(numbers: Iterable[str]) -> list[str]:
    return sorted(numbers, key=lambda number: parse_release(number) or ((), 0), reverse=True)
