"""Flags over several releases: one record of ``data/flags.jsonl`` for each flag, whatever a release calls it.

A record tells what the newest release says, and of older ones only what differs: ``since`` and ``until`` for a spelling
or a choice that not all of the flag's releases have, ``took`` for what followed the flag up to a release.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sgl_explain.authoring.flags.declared import NOT_KNOWN, DeclaredFlag, client_flags, declared_flags
from sgl_explain.authoring.flags.successors import successors_by_flag
from sgl_explain.authoring.inventory.source import release_at
from sgl_explain.errors import KnowledgeError
from sgl_explain.release import parse_release

_MIN_HELP_CHARS: Final = 20

Successors = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ReleaseFlags:
    """The flags of one release: the server's, with the successors that it names for some, and the benchmark's."""

    server: tuple[DeclaredFlag, ...]
    client: tuple[DeclaredFlag, ...] = ()
    successors: Successors = field(default_factory=dict)


@dataclass(slots=True)
class _History:
    """One flag as the releases declare it, the newest first."""

    seen: list[tuple[str, DeclaredFlag]] = field(default_factory=list)

    def record(self, successors: Successors) -> dict[str, object]:
        """Return the flag's line as plain data."""
        newest, (first, last) = self.seen[0][1], (self.seen[-1][0], self.seen[0][0])
        releases_by_name = _releases_by_item((number, flag.names) for number, flag in self.seen)
        releases_by_choice = _releases_by_item((number, flag.choices or ()) for number, flag in self.seen)
        since, until = _bounds({**releases_by_name, **releases_by_choice}, first, last)
        name, *aliases = releases_by_name
        told = {
            "aliases": aliases, "choices": list(releases_by_choice), "since": since, "until": until,
            "took": self._took(), "replacement": next(
                (list(successors[str(spelling)]) for spelling in releases_by_name if spelling in successors), []
            ),
        }  # fmt: skip
        default = {} if newest.default is NOT_KNOWN else {"default": newest.default}
        known = {"flag": name, "takes": newest.takes, **default, "first": first, "last": last}
        return {**known, **{key: value for key, value in told.items() if value}}

    def _took(self) -> dict[str, str]:
        """What followed the flag, where it was something else, by the last release in which it was so."""
        pairs = zip(self.seen, self.seen[1:], strict=False)
        return {number: flag.takes for (_, after), (number, flag) in pairs if flag.takes != after.takes}


def release_flags(source: Path) -> ReleaseFlags:
    """Return the flags of the release in a folder or a wheel; raises KnowledgeError if there is none."""
    try:
        release = release_at(source)
        server = declared_flags(release)
    except ValueError as error:
        raise KnowledgeError([f"{source}: {error}"]) from None
    return ReleaseFlags(server, client_flags(release), successors_by_flag(release, server))


def flag_lines(flags_by_release: Mapping[str, ReleaseFlags], by_hand: Successors | None = None) -> str:
    """Return the flags of some releases as JSON Lines: the releases, then the flags sorted by their main spelling.

    ``by_hand`` are successors that no release names.
    """
    ordered = {number: flags_by_release[number] for number in _newest_first(flags_by_release)}
    successors = {**(by_hand or {}), **_renamed(ordered), **_named(ordered)}
    server = [history.record(successors) for history in _histories({n: f.server for n, f in ordered.items()})]
    client = [history.record({}) for history in _histories({n: f.client for n, f in ordered.items()})]
    marked = [{"program": "bench_serving", **record} for record in client]
    records = [{"releases": list(ordered)[::-1]}, *_sorted(server), *_sorted(marked)]
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def _sorted(records: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(records, key=lambda record: str(record["flag"]))


def _named(ordered: Mapping[str, ReleaseFlags]) -> dict[str, tuple[str, ...]]:
    """What SGLang calls the successor; of several releases the newest one's word."""
    return {name: words for flags in reversed(list(ordered.values())) for name, words in flags.successors.items()}


def _renamed(ordered: Mapping[str, ReleaseFlags]) -> dict[str, tuple[str, ...]]:
    """A flag that goes in the release in which another comes with the very same help has only changed its name."""
    releases = [flags.server for flags in ordered.values()]
    pairs = zip(releases[1:], releases, strict=False)
    return {name: (new,) for before, after in pairs for name, new in _moved(before, after)}


def _moved(before: Sequence[DeclaredFlag], after: Sequence[DeclaredFlag]) -> Iterator[tuple[str, str]]:
    old_names, new_names = ({name for flag in flags for name in flag.names} for flags in (before, after))
    gone = [flag for flag in before if not new_names.intersection(flag.names)]
    came = {(flag.takes, _help(flag)): flag.names[0] for flag in after if not old_names.intersection(flag.names)}
    for flag in gone:
        if len(_help(flag)) >= _MIN_HELP_CHARS and (flag.takes, _help(flag)) in came:
            yield from ((name, came[flag.takes, _help(flag)]) for name in flag.names)


def _help(flag: DeclaredFlag) -> str:
    return flag.said[-1] if flag.said else ""


def _releases_by_item(items_by_release: Iterable[tuple[str, Iterable[object]]]) -> dict[object, list[str]]:
    """The releases, newest first, that have a spelling or a choice; in the order of the newest that has it."""
    releases: dict[object, list[str]] = {}
    for number, items in items_by_release:
        for item in dict.fromkeys(items):
            releases.setdefault(item, []).append(number)
    return releases


def _bounds(
    releases_by_item: Mapping[object, Sequence[str]], first: str, last: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Since when, and until when, each item was there, where that is not the flag's own first and last release."""
    since = {str(item): numbers[-1] for item, numbers in releases_by_item.items() if numbers[-1] != first}
    until = {str(item): numbers[0] for item, numbers in releases_by_item.items() if numbers[0] != last}
    return since, until


def _histories(flags_by_release: Mapping[str, Iterable[DeclaredFlag]]) -> list[_History]:
    """Releases stand newest first; a spelling belongs to the flag that has it in the newest release with it."""
    histories: list[_History] = []
    history_by_name: dict[str, _History] = {}
    for number, flags in flags_by_release.items():
        for flag in flags:
            if history_by_name.keys().isdisjoint(flag.names):
                histories.append(_History())
                history_by_name.update(dict.fromkeys(flag.names, histories[-1]))
            _enter(number, flag, history_by_name)
    return histories


def _enter(number: str, flag: DeclaredFlag, history_by_name: dict[str, _History]) -> None:
    """Enter a sighting with the owner of each of its spellings; new spellings go to the first owner."""
    owner = next(history_by_name[name] for name in flag.names if name in history_by_name)
    for name in flag.names:
        history_by_name.setdefault(name, owner)
    for history in {id(history_by_name[name]): history_by_name[name] for name in flag.names}.values():
        own = tuple(name for name in flag.names if history_by_name[name] is history)
        history.seen.append((number, replace(flag, names=own)))


def _newest_first(numbers: Iterable[str]) -> list[str]:
    return sorted(numbers, key=lambda number: parse_release(number) or ((), 0), reverse=True)
