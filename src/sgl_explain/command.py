"""Applying a fix to a launch command: flags set, flags removed, everything else as it was typed."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sgl_explain.command_words import values_taken
from sgl_explain.flags import flag_called, is_negative

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Change:
    """What a fix does to a launch command: words renamed, flags (or bare words) removed, flags set."""

    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)


def corrected(command: Sequence[str], change: Change) -> tuple[str, ...]:
    """Return a command's words after a change; all spellings of a flag are the same flag.

    A flag keeps its place and its spelling (``--flag value`` or ``--flag=value``) where it stands already, and is
    appended where it does not. Its values go with it: as many words as it takes, or, of a flag that is not known,
    those up to the next ``--`` word. A word is renamed as it stands: to another flag, which keeps the values, or to
    ``--flag=value``, which does not. A bare word is removed where it is no flag's value.
    """
    words = list(command)
    for word, successor in change.rename.items():
        words = _renamed(words, word, successor)
    for flag in change.remove:
        words = _without(words, flag) if flag.startswith("-") else _without_bare(words, flag.split())
    for flag, value in change.set.items():
        words = _with(words, flag, value)
    return tuple(words)


def shell_text(command: Sequence[str]) -> str:
    """Return a command as one line to paste, quoted where the shell needs it."""
    return " ".join(word if word.startswith("~") else shlex.quote(word) for word in command)


def values_in(value: str) -> list[str]:
    """Return the words of a flag's value; JSON is one word, whether or not it was quoted."""
    return [value] if value[:1] in ("{", "[") else shlex.split(value)


def has_flag(command: Sequence[str], flag: str) -> bool:
    """Tell whether a command gives a flag, in any spelling."""
    return bool(_spans(command, flag))


def value_of(command: Sequence[str], flag: str) -> str | None:
    """Return the value that a command gives to a flag, in any spelling; the first one of several words.

    Of a flag given twice it is the later value, as in argparse.
    """
    for start, end in reversed(_spans(command, flag)):
        _, is_joined, value = command[start].partition("=")
        if is_joined or end > start + 1:
            return value if is_joined else command[start + 1]
    return None


def _spans(words: Sequence[str], flag: str) -> list[tuple[int, int]]:
    """Where a flag stands with its values: the index of its word and of the word after the last value."""
    return [(start, _end(words, start)) for start, word in enumerate(words) if _is_same(_spelling(word), flag)]


def _end(words: Sequence[str], start: int) -> int:
    end = start + 1
    limit = end + values_taken(words[start], len(words) - end)
    while end < limit and not words[end].startswith("--"):
        end += 1
    return end


def _spelling(word: str) -> str:
    return word.partition("=")[0]


def _is_same(word: str, flag: str) -> bool:
    if not word.startswith("--"):
        return word == flag
    known = flag_called(flag)
    return word == flag or (known is not None and flag_called(word) == known)


def _is_opposite(word: str, flag: str) -> bool:
    known = flag_called(flag)
    return known is not None and is_negative(word, known) != is_negative(flag, known)


def _without(words: list[str], flag: str) -> list[str]:
    for start, end in reversed(_spans(words, flag)):
        if not _is_opposite(_spelling(words[start]), flag):
            words = [*words[:start], *words[end:]]
    return words


def _without_bare(words: list[str], bare: list[str]) -> list[str]:
    """Remove the first run of words that are no flag and no flag's value."""
    owned = {
        index for start, word in enumerate(words) if word[:2] == "--" for index in range(start, _end(words, start))
    }
    for start in range(len(words) - len(bare) + 1):
        end = start + len(bare)
        if words[start:end] == bare and owned.isdisjoint(range(start, end)):
            return [*words[:start], *words[end:]]
    return words


def _renamed(words: list[str], word: str, successor: str) -> list[str]:
    for start in reversed([index for index, typed in enumerate(words) if _spelling(typed) == word]):
        _, is_joined, value = words[start].partition("=")
        keeps_values = "=" not in successor
        end = start + 1 if keeps_values else _end(words, start)
        written = [f"{successor}={value}" if is_joined else successor] if keeps_values else shlex.split(successor)
        words = [*words[:start], *written, *words[end:]]
    return words


def _with(words: list[str], flag: str, value: str) -> list[str]:
    values = values_in(value)
    spans = _spans(words, flag)
    # argparse takes a value that begins with a dash for a flag, unless it is joined
    is_joined = len(values) == 1 and values[0].startswith("-") and not _NUMBER.fullmatch(values[0])
    if not spans:
        return [*words, *([f"{flag}={values[0]}"] if is_joined else [flag, *values])]
    start, end = spans[-1]  # the one that argparse heeds
    spelling = _spelling(words[start])
    spelling = flag if _is_opposite(spelling, flag) else spelling
    is_joined = is_joined or (len(values) == 1 and "=" in words[start])
    written = [f"{spelling}={values[0]}"] if is_joined else [spelling, *values]
    return [*words[:start], *written, *words[end:]]
