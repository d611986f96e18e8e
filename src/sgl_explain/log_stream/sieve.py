"""Which lines of a log can matter, each kind of line judged once.

A server writes the same few lines over and over with other numbers in them. Stripped of everything but letters they
are the same few shapes, so that a block of lines is judged by set operations: a quiet log costs what `bytes.translate`,
`bytes.split` and `set` cost, however many words are looked for.
"""

import re
import string
from collections.abc import Callable
from enum import Enum
from typing import Final

ERROR_WORDS: Final = (
    "error", "exception", "fail", "warn", "traceback", "fatal", "critical", "cannot", "invalid", "abort", "crash",
    "killed", "died", "dead", "sigquit", "terminate", "out of memory", "not support", "unsupported", "unable",
    "timeout", "timed out", "leak", "segmentation", "已杀死",
)  # fmt: skip
"""Marks of an error, in lower case; a line with one of them may begin a failure whatever the knowledge speaks of."""

_MAX_SHAPES: Final = 20_000
# Beyond this a line may be the first part of one that a container runtime cut, mostly at 16 kB.
_CUT_LINE_CHARS: Final = 12_000

_DIGITS: Final = string.digits.encode()
_LETTERS: Final = string.ascii_letters.encode()
# High bytes stay: text in other scripts is judged as it stands.
_NO_LETTERS: Final = bytes(byte for byte in range(128) if byte not in _LETTERS + b"\n")
_WORDS: Final = bytes(byte if byte in _LETTERS + b"_" else 32 for byte in range(256)).lower()
_COLOURS: Final = re.compile(rb"(?:\x1b|\\+u001b)\[[0-?]*[ -/]*[@-~]")
_JSON_ESCAPES: Final = re.compile(rb"\\+(?:u[\da-fA-F]{4}|[nrt])")

_MARKS: Final = tuple(word.encode() for word in ERROR_WORDS)
# Of a mark of several words, the longest.
_MARK_WORDS: Final = tuple(max(mark.split(), key=len) for mark in _MARKS if mark.isascii())
# File "x.py", line 1; usage: x.py [-h]; lines that a container runtime cut.
_FORMS: Final = (b'", line ', b"[-h]", b" stdout P ", b" stderr P ")
_GLOG: Final = re.compile(rb"[WEF]\d{3,4} \d\d:\d\d:\d\d")
# Near the beginning of a line, behind its prefixes.
_FACTS: Final = (
    b"prefillbatch", b"decodebatch", b"loadweight", b"kvcacheisallocated", b"memorypoolend", b"firedupandready",
    b"kvcacheallocated", b"weightsonlinefromdiskbegin", b"updateweightsend",
    b"serverargs", b"sglanglaunchserver", b"sglangserve", b"sglangversion", b"graph",
)  # fmt: skip
_FACT_CHARS: Final = 400


class Kind(Enum):
    """What a line is good for: nothing, a fact about the server, or the beginning of a failure."""

    NOTHING = 0
    FACT = 1
    HIT = 2


class Sifted:
    """A block of lines, judged: the shape of each line, and which of the shapes are new, hits, and facts."""

    __slots__ = ("_block", "_lines", "facts", "hits", "new", "shapes")

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._lines: list[bytes] | None = None
        self.shapes = _shapes_in(block)
        self.new: set[bytes] = set()
        self.hits: set[bytes] = set()
        self.facts: set[bytes] = set()

    @property
    def lines(self) -> list[bytes]:
        """The lines themselves, cut when they are first asked for: of most blocks, never."""
        if self._lines is None:
            self._lines = self._block.split(b"\n")
        return self._lines

    def text_of(self, index: int) -> str:
        """Return a line as text."""
        return self.lines[index].decode("utf-8", "replace")

    def last_index_of(self, shape: bytes) -> int:
        """Return the index of the last line of a shape that is in the block."""
        return len(self.shapes) - 1 - self.shapes[::-1].index(shape)

    def indices_of(self, shapes: set[bytes]) -> list[int]:
        """Return the indices of the lines that have one of these shapes."""
        return [index for index, shape in enumerate(self.shapes) if shape in shapes] if shapes else []


class Sieve:
    """Judges lines. ``speaks_of`` is asked about the words of a line (lower case, digits taken out) without a mark."""

    def __init__(self, speaks_of: Callable[[frozenset[str]], bool] | None = None) -> None:
        self._speaks_of = speaks_of
        self._shapes_by_kind: dict[Kind, set[bytes]] = {kind: set() for kind in Kind}

    def sift(self, block: bytes) -> Sifted:
        """Judge a block of whole lines; where their shape is known already, no line is looked at by itself."""
        sifted = Sifted(block)
        present = set(sifted.shapes)
        sifted.new = present.difference(*self._shapes_by_kind.values())
        if sifted.new:
            self._judge(sifted)
        sifted.hits = present & self._shapes_by_kind[Kind.HIT]
        sifted.facts = present & self._shapes_by_kind[Kind.FACT]
        return sifted

    def kind_of(self, line: bytes, shape: bytes) -> Kind:
        """Return what a line is good for."""
        words = words_of(line)
        if _is_marked(line, words) or _holds_any(_FORMS, line) or _GLOG.search(line):
            return Kind.HIT
        if len(line) > _CUT_LINE_CHARS or (self._speaks_of is not None and self._speaks_of(words)):
            return Kind.HIT
        return Kind.FACT if _holds_any(_FACTS, shape[:_FACT_CHARS].lower()) else Kind.NOTHING

    def _judge(self, sifted: Sifted) -> None:
        if sum(map(len, self._shapes_by_kind.values())) > _MAX_SHAPES:
            for shapes in self._shapes_by_kind.values():
                shapes.clear()
        unjudged = set(sifted.new)
        for index in sifted.indices_of(sifted.new):
            shape = sifted.shapes[index]
            if shape in unjudged:
                unjudged.discard(shape)
                self._shapes_by_kind[self.kind_of(sifted.lines[index], shape)].add(shape)


def _is_marked(line: bytes, words: frozenset[str]) -> bool:
    """Whether a mark of an error stands in a line: asked of its different words first, which are fewer."""
    seems_marked = not line.isascii() or _holds_any(_MARK_WORDS, " ".join(words).encode())
    return seems_marked and _holds_any(_MARKS, _unescaped(line).lower())


def _holds_any(words: tuple[bytes, ...], text: bytes) -> bool:
    # A plain loop: a generator takes twice as long, and a regex of so many branches ten times.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def words_of(line: bytes) -> frozenset[str]:
    """Return the words of a line as the sieve compares them: lower case, without digits."""
    return frozenset(_unescaped(line).translate(_WORDS, _DIGITS).decode("ascii").split())


def _shapes_in(block: bytes) -> list[bytes]:
    return _unescaped(block).translate(None, _NO_LETTERS).split(b"\n")


def _unescaped(text: bytes) -> bytes:
    """Return the text without a terminal's escapes, and blanks for JSON's."""
    if b"\x1b" in text or b"\\" in text:
        text = _JSON_ESCAPES.sub(b" ", _COLOURS.sub(b"", text))
    return text
