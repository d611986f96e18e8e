"""Facts about SGLang's server flags: spellings, how many words follow, choices, and the releases that have them.

They are read from ``data/flags.jsonl``, which ``python -m sgl_explain.authoring flags`` writes, on first use.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, Literal

BUNDLED: Final = "flags.jsonl"
Takes = Literal["value", "nothing", "values"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A server flag over the releases looked at, ``first`` to ``last`` being the ones that have it.

    ``name`` is the newest main spelling; ``choices`` and ``default`` are the newest, None where there is none or the
    source does not tell it.
    """

    name: str
    aliases: tuple[str, ...]
    takes: Takes
    first: str
    last: str
    choices: tuple[object, ...] | None = None
    default: object = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling of any release, the main one first."""
        return (self.name, *self.aliases)


@cache
def known_flags() -> Mapping[str, Flag]:
    """Return the server flags by every spelling, loaded on first use."""
    from importlib_resources import files  # waits: importing the package must cost nothing

    text = (files("sgl_explain") / "data" / BUNDLED).read_text(encoding="utf-8")
    return MappingProxyType({spelling: flag for flag in flags_in_lines(text) for spelling in flag.spellings})


def flags_in_lines(text: str) -> Iterator[Flag]:
    """Read flags from JSON Lines, as `authoring.flags` writes them."""
    for line in text.splitlines():
        data = json.loads(line)
        choices = tuple(data["choices"]) if "choices" in data else None
        aliases = tuple(data["aliases"])
        yield Flag(data["flag"], aliases, data["takes"], data["first"], data["last"], choices, data.get("default"))


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
