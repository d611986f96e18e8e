"""Applying a fix to a launch command: flags set, flags removed, everything else as it was typed."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from sgl_explain.flags import flag_called, is_negative

_MAX_VALUES: Final = {"nothing": 0, "value": 1}


def corrected(command: Sequence[str], set_flags: Mapping[str, str], removed: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words with flags set and removed; all spellings of a flag are the same flag.

    A flag keeps its place and its spelling (``--flag value`` or ``--flag=value``) where it stands already, and is
    appended where it does not. Its values go with it: as many words as it takes, or, of a flag that is not known,
    those up to the next ``--`` word.
    """
    words = list(command)
    for flag in removed:
        words = _without(words, flag)
    for flag, value in set_flags.items():
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
    known = flag_called(_spelling(words[start]))
    limit = _MAX_VALUES.get(known.takes, len(words)) if known else len(words)
    end = start + 1
    while "=" not in words[start] and end < min(len(words), start + 1 + limit) and not words[end].startswith("--"):
        end += 1
    return end


def _spelling(word: str) -> str:
    return word.partition("=")[0]


def _is_same(word: str, flag: str) -> bool:
    if not word.startswith("--"):
        return False
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


def _with(words: list[str], flag: str, value: str) -> list[str]:
    values = values_in(value)
    spans = _spans(words, flag)
    if not spans:
        return [*words, flag, *values]
    start, end = spans[-1]  # the one that argparse heeds
    spelling = _spelling(words[start])
    spelling = flag if _is_opposite(spelling, flag) else spelling
    written = [f"{spelling}={value}"] if "=" in words[start] else [spelling, *values]
    return [*words[:start], *written, *words[end:]]
