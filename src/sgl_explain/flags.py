"""Facts about SGLang's flags: spellings, what follows them, choices, successors, and the releases that have them.

They are read from ``data/flags.jsonl``, which ``python -m sgl_explain.authoring flags`` writes, on first use.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from sgl_explain.release import parse_release

BUNDLED: Final = "flags.jsonl"
SERVER: Final = "server"
Takes = Literal["value", "nothing", "values"]


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """A flag over the releases looked at, ``first`` to ``last`` being the ones that have it.

    ``name`` is the newest main spelling; ``choices`` are those of any release, None where the source tells none.
    ``since`` and ``until`` bound the spellings and choices that not all of these releases have; ``took`` tells what
    followed the flag up to a release, where it is not what ``takes`` says. ``replacement`` is what to write instead,
    ``--flag`` or ``--flag=value``, where SGLang or its source names it. ``default`` is the newest, None if unknown.
    """

    name: str
    aliases: tuple[str, ...]
    takes: Takes
    first: str
    last: str
    choices: tuple[object, ...] | None = None
    default: object = None
    replacement: tuple[str, ...] = ()
    program: str = SERVER
    since: Mapping[str, str] = field(default_factory=dict)
    until: Mapping[str, str] = field(default_factory=dict)
    took: Mapping[str, Takes] = field(default_factory=dict)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling of any release, the main one first."""
        return (self.name, *self.aliases)

    def spellings_in(self, release: str | None) -> tuple[str, ...]:
        """Return the spellings that a release has, the main one first; all of them where it is not known."""
        return tuple(name for name in self.spellings if self.has(name, release))

    def choices_in(self, release: str | None) -> tuple[str, ...]:
        """Return the values a release accepts, where they are listed; those of any release where it is not known."""
        return tuple(value for value in map(str, self.choices or ()) if self.has(value, release))

    def takes_in(self, release: str | None) -> Takes:
        """Return what follows the flag in a release."""
        this = known_release(release)
        older = (takes for last, takes in self.took.items() if this and parse_release(last) >= parse_release(this))  # type: ignore[operator]  # the file holds release numbers
        return next(older, self.takes)

    def has(self, item: str, release: str | None) -> bool:
        """Tell whether a release has one of the spellings or choices; whether any has it where it is not known."""
        if item not in self.spellings and item not in map(str, self.choices or ()):
            return False
        this = known_release(release)
        return this is None or not (is_before(this, self.first_with(item)) or is_before(self.last_with(item), this))

    def first_with(self, item: str) -> str:
        """Return the first release that has a spelling or choice."""
        return self.since.get(item, self.first)

    def last_with(self, item: str) -> str:
        """Return the last release that has a spelling or choice."""
        return self.until.get(item, self.last)


def is_before(release: str, other: str) -> bool:
    """Tell whether a release came before another; both are release numbers of the file."""
    this, that = parse_release(release), parse_release(other)
    return this is not None and that is not None and this < that


def known_release(release: str | None) -> str | None:
    """Return the release that stands for one in the file: itself, or the newest one for what came after it.

    None for what is no release number, and for releases older than the file, of which nothing is known.
    """
    this = parse_release(release) if release else None
    oldest, newest = (parse_release(number) for number in (known_releases()[0], known_releases()[-1]))
    if this is None or oldest is None or newest is None or this < oldest:
        return None
    return release if this <= newest else known_releases()[-1]


def release_after(release: str) -> str | None:
    """Return the next release of the file, None after the newest."""
    return next((number for number in known_releases() if is_before(release, number)), None)


@cache
def known_flags(program: str = SERVER) -> Mapping[str, Flag]:
    """Return a program's flags (the server's, ``bench_serving``'s) by every spelling, loaded on first use."""
    flags = (flag for flag in _file()[1] if flag.program == program)
    return MappingProxyType({spelling: flag for flag in flags for spelling in flag.spellings})


def known_releases() -> tuple[str, ...]:
    """Return the releases that the facts were read from, the oldest first."""
    return _file()[0]


@cache
def _file() -> tuple[tuple[str, ...], tuple[Flag, ...]]:
    from importlib_resources import files  # waits: importing the package must cost nothing

    text = (files("sgl_explain") / "data" / BUNDLED).read_text(encoding="utf-8")
    head, *lines = text.splitlines()
    return tuple(json.loads(head)["releases"]), tuple(flags_in_lines(lines))


def flags_in_lines(lines: Iterable[str]) -> Iterator[Flag]:
    """Read flags from JSON Lines, as `authoring.flags` writes them."""
    for line in lines:
        yield _flag(**json.loads(line))


def _flag(
    flag: str, aliases: Iterable[str] = (), choices: Iterable[object] | None = None,
    replacement: Iterable[str] = (), **told: Any,
) -> Flag:  # fmt: skip
    values = None if choices is None else tuple(choices)
    return Flag(flag, tuple(aliases), choices=values, replacement=tuple(replacement), **told)


@cache
def flag_called(word: str) -> Flag | None:
    """Return the flag that a word of a command line means: a spelling, or what argparse takes as short for one flag."""
    if word in known_flags():
        return known_flags()[word]
    meant = {flag.name: flag for spelling, flag in known_flags().items() if spelling.startswith(word)}
    return next(iter(meant.values())) if len(meant) == 1 and word.startswith("--") and word != "--" else None


def is_negative(word: str, flag: Flag) -> bool:
    """Tell whether a spelling turns off what another spelling of the same flag turns on (``--no-x``)."""
    return word.startswith("--no-") and f"--{word[len('--no-') :]}" in flag.spellings
