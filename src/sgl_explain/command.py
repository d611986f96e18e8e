"""Applying a fix to a launch command: flags set, flags removed, everything else as it was typed."""

import shlex
from collections.abc import Mapping, Sequence


def corrected(command: Sequence[str], set_flags: Mapping[str, str], removed: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words with flags set and removed.

    A flag keeps its place and its spelling (``--flag value`` or ``--flag=value``) where it stands already, and is
    appended where it does not. The values of a removed flag go with it, up to the next ``--`` word.
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


def value_of(command: Sequence[str], flag: str) -> str | None:
    """Return the first value given to a flag, if the command gives one."""
    for index, word in enumerate(command):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and index + 1 < len(command) and not command[index + 1].startswith("--"):
            return command[index + 1]
    return None


def _span(words: Sequence[str], flag: str) -> tuple[int, int] | None:
    """Where a flag stands with its values: the index of its word and of the word after the last value."""
    for start, word in enumerate(words):
        if word == flag or word.startswith(f"{flag}="):
            end = start + 1
            while word == flag and end < len(words) and not words[end].startswith("--"):
                end += 1
            return start, end
    return None


def _without(words: list[str], flag: str) -> list[str]:
    span = _span(words, flag)
    return words if span is None else _without([*words[: span[0]], *words[span[1] :]], flag)


def _with(words: list[str], flag: str, value: str) -> list[str]:
    values = values_in(value)
    span = _span(words, flag)
    if span is None:
        return [*words, flag, *values]
    written = [f"{flag}={value}"] if words[span[0]].startswith(f"{flag}=") else [flag, *values]
    return [*words[: span[0]], *written, *words[span[1] :]]
