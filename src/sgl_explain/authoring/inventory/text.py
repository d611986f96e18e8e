"""Texts with holes, and what Python's string operations make of them."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

MAX_ALTERNATIVES = 16

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Hole:
    """A value known only at run time."""

    name: str
    expression: str
    owner: str = ""
    """The function whose parameter it is: a caller's text can be put in."""


Text = tuple[str | Hole, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A literal list, tuple, set or mapping; each item with its alternatives, a mapping's as (key, value) rows."""

    items: tuple[tuple[Value, ...], ...]
    is_mapping: bool = False

    def pairs(self) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...]]]:
        """Yield a mapping's keys and values, each with its alternatives."""
        for (row,) in self.items:
            if isinstance(row, Rows):
                key, value = row.items
                yield key, value


Value = Text | Rows
Pieces = Sequence[str | tuple[Text, ...]]


def has_literal(text: Text) -> bool:
    """Say whether the text holds anything but holes and white space."""
    return any(isinstance(part, str) and part.strip() for part in text)


def word_count(text: Text) -> int:
    """Count the literal words of at least two letters; an identifier is one word."""
    return sum(len(re.findall(r"[A-Za-z]{2}\S*", part)) for part in text if isinstance(part, str))


def merged(parts: Iterable[str | Hole]) -> Text:
    """Return the parts with neighbouring literals joined and empty ones dropped."""
    joined: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def few(values: Iterable[_T]) -> tuple[_T, ...]:
    """Return the first distinct values, at most ``MAX_ALTERNATIVES``."""
    return tuple(itertools.islice(dict.fromkeys(values), MAX_ALTERNATIVES))


def combinations(choices: Sequence[Sequence[_T]]) -> tuple[tuple[_T, ...], ...]:
    """Return ways to take one of each; every choice turns up before any pairing is tried for its own sake."""
    if not all(choices):
        return ()
    widest = max((len(choice) for choice in choices), default=1)
    diagonal = (tuple(choice[row % len(choice)] for choice in choices) for row in range(widest))
    return few(itertools.chain(diagonal, itertools.islice(itertools.product(*choices), 4 * MAX_ALTERNATIVES)))


def concatenated(pieces: Pieces) -> tuple[Text, ...]:
    """Return every text the pieces make when each takes one of its alternatives."""
    choices = [((piece,),) if isinstance(piece, str) else piece for piece in pieces]
    return few(merged(itertools.chain.from_iterable(row)) for row in combinations(choices))


def through(operation: Callable[[str], str], text: Text) -> Text:
    """Apply a string operation to the literals of a text, its holes standing for unknown words."""
    holes = [part for part in text if isinstance(part, Hole)]
    numbers = itertools.count()
    flat = "".join(part if isinstance(part, str) else f"\0{next(numbers)}\0" for part in text)
    return restored(operation(flat), holes)


def restored(flat: str, holes: Sequence[Hole]) -> Text:
    """Put the holes back where their numbered marks stand."""
    marked = re.split(r"\0(\d+)\0", flat)
    return merged(holes[int(part)] if index % 2 else part for index, part in enumerate(marked))


_PERCENT = re.compile(r"%(?:\((?P<key>\w+)\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<type>[%a-zA-Z])")


def percent_pieces(text: Text, positional: Sequence[tuple[Text, ...]], named: Mapping[str, tuple[Text, ...]]) -> Pieces:
    """Return the pieces of ``text % values``; what has no value keeps a hole."""
    values = iter(positional)
    pieces: list[str | tuple[Text, ...]] = []
    for part in text:
        if isinstance(part, Hole):
            pieces.append(((part,),))
            continue
        end = 0
        for match in _PERCENT.finditer(part):
            pieces += [part[end : match.start()], _percent_value(match, values, named)]
            end = match.end()
        pieces.append(part[end:])
    return pieces


def _percent_value(
    match: re.Match[str], values: Iterable[tuple[Text, ...]], named: Mapping[str, tuple[Text, ...]]
) -> str | tuple[Text, ...]:
    if match["type"] == "%":
        return "%"
    if key := match["key"]:
        return named.get(key, ((Hole(key, key),),))
    return next(iter(values), ((Hole("value", match[0]),),))


def format_pieces(text: Text, positional: Sequence[tuple[Text, ...]], named: Mapping[str, tuple[Text, ...]]) -> Pieces:
    """Return the pieces of ``text.format(...)``; raises ValueError if the text is no format string."""
    pieces: list[str | tuple[Text, ...]] = []
    counter = itertools.count()
    for part in text:
        if isinstance(part, Hole):
            pieces.append(((part,),))
            continue
        for literal, field, _, _ in string.Formatter().parse(part):
            pieces.append(literal)
            if field is not None:
                pieces.append(_field_value(field or str(next(counter)), positional, named))
    return pieces


def _field_value(
    field: str, positional: Sequence[tuple[Text, ...]], named: Mapping[str, tuple[Text, ...]]
) -> tuple[Text, ...]:
    if field.isdigit() and int(field) < len(positional):
        return positional[int(field)]
    name = re.sub(r"\W+", "_", field).strip("_")
    return named.get(field, ((Hole(name if name.isidentifier() else "value", field),),))


def template(text: Text) -> str | None:
    """Return the text as a template, or None if it is all holes; different values get different names."""
    if not has_literal(text):
        return None
    names: dict[Hole, str] = {}
    for part in text:
        if isinstance(part, Hole) and part not in names:
            names[part] = _free_name(part.name, names.values())
    doubled = str.maketrans({"{": "{{", "}": "}}"})
    return "".join(part.translate(doubled) if isinstance(part, str) else f"{{{names[part]}}}" for part in text)


def _free_name(name: str, taken: Iterable[str]) -> str:
    numbered = (name if number == 1 else f"{name}_{number}" for number in itertools.count(1))
    return next(candidate for candidate in numbered if candidate not in taken)
