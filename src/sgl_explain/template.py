"""Message templates: literal text with named placeholders, matched against real messages in linear steps.

A template is written as SGLang's f-string would be, with plain names: ``"gamma + 1 (= {expected:int})"``.
Kinds of placeholder: ``text`` (the default, anything on one line), ``int``, ``number``, ``word``, ``block`` (many
lines), or the words it may be, as in ``{name:top_p|min_p}``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, pairwise
from string import Formatter
from typing import Final

from sgl_explain.errors import TemplateError

MAX_VALUE_CHARS: Final = 400
_KINDS: Final = {
    "text": r"[^\n]*",
    "int": r"[+-]?\d+",
    "number": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    "word": r"\S+",
    "block": r"[\s\S]*",
}
_MAX_PLAIN_WORDS: Final = 2
_MAX_STARTS: Final = 16
_MAX_TRIES: Final = 8
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_QUOTES: Final = re.compile("['\"`]")
_ANY_QUOTES: Final = "['\"`\u2018\u2019\u201c\u201d\\\\]{0,4}"
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

    @property
    def pattern(self) -> str:
        """The regular expression of the values that fit; it is given no more text than `max_chars`."""
        return "|".join(map(re.escape, self.choices)) if self.choices else _KINDS[self.kind]

    @property
    def max_chars(self) -> int:
        """How long a value may be."""
        return 4 * MAX_VALUE_CHARS if self.kind == "block" else MAX_VALUE_CHARS


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
            if literal and parts and isinstance(parts[-1], str):  # a doubled brace ends a field
                parts[-1] += literal
            elif literal:
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
    def is_plain(self) -> bool:
        """Whether it is but a word or two of everyday language: ``Unknown type: {kind}``."""
        return len(self.words) <= _MAX_PLAIN_WORDS and all(word.isalpha() for word in self.words)

    @property
    def weight(self) -> int:
        """How specific the template is: its literal letters and digits."""
        return sum(char.isalnum() for char in self.literals)

    def match(self, message: str) -> TemplateMatch | None:
        """Return the first place where the message says what this template says, if there is one.

        A value reaches to the next literal, so every step is a search for a literal and no step is taken back: the
        cost is linear in the message.
        """
        first = self._literals[0]
        starts = islice(first.finditer(message), _MAX_STARTS)
        return next((match for start in starts if (match := self._match_from(message, start))), None)

    def sample(self, value: str) -> str:
        """Return a text that the template matches, with a value in every placeholder that may be anything."""
        holes = (part for part in self.parts if isinstance(part, Placeholder))
        return self.fill({hole.name: hole.choices[0] if hole.choices else value for hole in holes})

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with values in place of the placeholders; KeyError names one that is missing."""
        return "".join(part if isinstance(part, str) else str(values[part.name]) for part in self.parts)

    def _match_from(self, message: str, first: re.Match[str]) -> TemplateMatch | None:
        values: dict[str, str] = {}
        start, end, literals = first.start(), first.end(), iter(self._literals[1:])
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                continue
            if index == 0:
                span = _span_before(part, message, start)
                start = span[0] if span else start
            elif index == len(self.parts) - 1:
                span = _span_after(part, message, end)
                end = span[1] if span else end
            else:
                literal = _next_literal(part, next(literals), message, end)
                span = (end, literal.start()) if literal else None
                end = literal.end() if literal else end
            if span is None:
                return None
            values[part.name] = message[span[0] : span[1]].strip()
        return TemplateMatch(values, start, end)

    @cached_property
    def _literals(self) -> tuple[re.Pattern[str], ...]:
        """The literals; at the template's edges a word is not the part of a longer one."""
        last = len(self.parts) - 1
        patterns = []
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                head = r"(?<!\w)" if index == 0 and _is_word_char(part[0]) else ""
                # a sentence's full stop is not the point of "Qwen3.5"
                tail = r"(?!\w)" if index == last and (_is_word_char(part[-1]) or part[-1] == ".") else ""
                patterns.append(re.compile(head + _escape(part) + tail))
        return tuple(patterns)

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
    """A literal as it may be quoted: any white space for a blank; beside words, other quotation marks or none."""
    text = r"\s+".join(re.escape(piece) for piece in re.split(r"\s+", literal))
    return _QUOTES.sub(lambda _: _ANY_QUOTES, text) if any(map(str.isalnum, literal)) else text


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char == "_"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _span_before(hole: Placeholder, message: str, end: int) -> tuple[int, int] | None:
    """Where the value that ends here begins: at its line, or where its kind does."""
    line = message.rfind("\n", 0, end) + 1 if hole.kind != "block" else 0
    begin = max(line, end - hole.max_chars)
    found = _compiled(rf"(?<!\w)(?:{hole.pattern})\Z" if hole.kind != "text" else rf"(?:{hole.pattern})\Z").search(
        message[begin:end]
    )
    return (begin + found.start(), end) if found else None


def _span_after(hole: Placeholder, message: str, start: int) -> tuple[int, int] | None:
    """Where the value that begins here ends: with its line, or where its kind does."""
    edge = r"(?!\w)" if hole.kind in ("int", "number") or hole.choices else ""
    found = _compiled(f"(?:{hole.pattern}){edge}").match(message, start, start + hole.max_chars)
    return found.span() if found else None


def _next_literal(hole: Placeholder, literal: re.Pattern[str], message: str, start: int) -> re.Match[str] | None:
    """The next place of a literal that leaves a fitting value before it."""
    value = _compiled(hole.pattern)
    reach = start + hole.max_chars
    for found in islice(literal.finditer(message, start), _MAX_TRIES):
        if found.start() > reach:
            return None
        if value.fullmatch(message, start, found.start()):
            return found
    return None
