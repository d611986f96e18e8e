"""Message templates: literal text with named placeholders, matched against real messages in linear steps.

A template is written as SGLang's f-string would be, with plain names: ``"gamma + 1 (= {expected:int})"``.
Kinds of placeholder: ``text`` (the default, anything on one line), ``int``, ``number``, ``word``, ``block`` (many
lines), or the words it may be, as in ``{name:top_p|min_p}``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from string import Formatter
from typing import Final

from sgl_explain.errors import TemplateError

MAX_VALUE_CHARS: Final = 400
_KINDS: Final = {
    "text": rf"[^\n]{{0,{MAX_VALUE_CHARS}}}?",
    "int": r"[+-]?\d+",
    "number": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    "word": rf"\S{{1,{MAX_VALUE_CHARS}}}?",
    "block": rf"[\s\S]{{0,{4 * MAX_VALUE_CHARS}}}?",
}
_TAIL_KINDS: Final = {
    **_KINDS,
    "text": rf"[^\n]{{0,{MAX_VALUE_CHARS}}}",
    "word": rf"\S{{1,{MAX_VALUE_CHARS}}}",
    "block": rf"[\s\S]{{0,{4 * MAX_VALUE_CHARS}}}",
}
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_CHOICES: Final = re.compile(r"[\w-]+(?:\|[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A named hole in a template and the kind of value that fits it."""

    name: str
    kind: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, if its kind names them."""
        return tuple(self.kind.split("|")) if "|" in self.kind else ()

    def pattern(self, *, is_last: bool) -> str:
        """Return the regular expression of the values that fit."""
        if self.choices:
            return "|".join(map(re.escape, self.choices))
        return (_TAIL_KINDS if is_last else _KINDS)[self.kind]


@dataclass(frozen=True, slots=True)
class TemplateMatch:
    """What a template found in a message: the values of its placeholders and the span they stand in."""

    values: Mapping[str, str]
    start: int
    end: int


def words_in(text: str) -> frozenset[str]:
    """Return the lower-cased identifiers and words of a text: what templates are looked up by."""
    return frozenset(word.lower() for word in _WORD.findall(text))


@dataclass(frozen=True)
class Template:
    """A message with holes. Build it with `parse`; two templates are equal when their texts are."""

    text: str
    parts: tuple[str | Placeholder, ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Read a template.

        Raises TemplateError for unbalanced braces, an unknown kind, a bad or repeated name, or two
        placeholders side by side.
        """
        template = cls.of_text(text)
        _check_order(text, template.parts)
        return template

    @classmethod
    def of_text(cls, text: str) -> "Template":
        """Read a text that is only to be filled: names may repeat and stand side by side."""
        try:
            fields = list(Formatter().parse(text))
        except ValueError as error:
            raise TemplateError(text, str(error)) from None
        parts: list[str | Placeholder] = []
        for literal, name, kind, conversion in fields:
            if literal:
                parts.append(literal)
            if name is not None:
                parts.append(_placeholder(text, name, kind or "text", conversion))
        return cls(text, tuple(parts))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the placeholders."""
        return frozenset(part.name for part in self.parts if isinstance(part, Placeholder))

    @cached_property
    def literals(self) -> str:
        """The literal text alone, holes left out, white space folded."""
        return " ".join("".join(part for part in self.parts if isinstance(part, str)).split())

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that stand complete in any message this template matches."""
        return words_in(" \0".join(self._closed_literals()))

    @property
    def weight(self) -> int:
        """How specific the template is: its literal letters and digits."""
        return sum(char.isalnum() for char in self.literals)

    def match(self, message: str) -> TemplateMatch | None:
        """Return the first place where the message says what this template says, if there is one."""
        start = self._first_start(message)
        found = None if start is None else self._pattern.search(message, start)
        if found is None:
            return None
        values = {name: value.strip() for name, value in found.groupdict().items()}
        return TemplateMatch(values, found.start(), found.end())

    def sample(self, value: str) -> str:
        """Return a text that the template matches, with a value in every placeholder that may be anything."""
        holes = (part for part in self.parts if isinstance(part, Placeholder))
        return self.fill({hole.name: hole.choices[0] if hole.choices else value for hole in holes})

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with values in place of the placeholders; KeyError names one that is missing."""
        return "".join(part if isinstance(part, str) else str(values[part.name]) for part in self.parts)

    def _first_start(self, message: str) -> int | None:
        """Find the literals in order before any regex runs; return where the first match may begin."""
        position = first = 0
        for index, literal in enumerate(self._literal_patterns):
            found = literal.search(message, position)
            if found is None:
                return None
            position = found.end()
            first = found.start() if index == 0 else first
        if isinstance(self.parts[0], str):
            return first
        return max(message.rfind("\n", 0, first) + 1, first - MAX_VALUE_CHARS)

    @cached_property
    def _literal_patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_escape(part)) for part in self.parts if isinstance(part, str))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        last = len(self.parts) - 1
        pieces = [
            _escape(part) if isinstance(part, str) else f"(?P<{part.name}>{part.pattern(is_last=index == last)})"
            for index, part in enumerate(self.parts)
        ]
        head = r"(?<!\w)" if _is_word_edge(self.parts[0], 0) else ""
        # a sentence's full stop is not the point of "Qwen3.5"
        tail = r"(?!\w)" if _is_word_edge(self.parts[-1], -1) or self.text.endswith(".") else ""
        return re.compile(head + "".join(pieces) + tail)

    def _closed_literals(self) -> list[str]:
        """Literals without the part-words that touch a placeholder: ``"size{n}"`` may read ``size8``."""
        closed = []
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                text = re.sub(r"^\w+", "", part) if index > 0 else part
                closed.append(re.sub(r"\w+$", "", text) if index < len(self.parts) - 1 else text)
        return closed


def _placeholder(text: str, name: str, kind: str, conversion: str | None) -> Placeholder:
    if not _NAME.fullmatch(name):
        raise TemplateError(text, f"placeholder {name!r} is not a name in lower case")
    if (kind not in _KINDS and not _CHOICES.fullmatch(kind)) or conversion:
        raise TemplateError(text, f"placeholder {name!r} has no kind {kind!r}; kinds are {', '.join(_KINDS)}")
    return Placeholder(name, kind)


def _check_order(text: str, parts: tuple[str | Placeholder, ...]) -> None:
    names = [part.name for part in parts if isinstance(part, Placeholder)]
    if len(names) != len(set(names)):
        raise TemplateError(text, "a placeholder name is used twice")
    for left, right in pairwise(parts):
        if isinstance(left, Placeholder) and isinstance(right, Placeholder):
            raise TemplateError(text, f"placeholders {left.name!r} and {right.name!r} stand side by side")
    if not any(isinstance(part, str) and part.strip() for part in parts):
        raise TemplateError(text, "it has no literal text")


def _escape(literal: str) -> str:
    return r"\s+".join(re.escape(piece) for piece in re.split(r"\s+", literal))


def _is_word_edge(part: str | Placeholder, end: int) -> bool:
    if isinstance(part, Placeholder):
        return part.kind in ("int", "number") or bool(part.choices)
    return part[end].isalnum() or part[end] == "_"
