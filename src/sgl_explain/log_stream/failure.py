"""A failure as a log prints it, read line by line: which lines belong to it, and what was raised.

A failure is a traceback with all that is chained to it and the words before it, a crash report of Python, or a line
(and those that continue it) that only says what went wrong.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Protocol

from sgl_explain.evidence import Raised
from sgl_explain.log_stream.chain import Chain, Link
from sgl_explain.log_stream.crash import CrashText, begins_crash
from sgl_explain.log_stream.message import Told, UsageText, begins_elsewhere, told_in, warning_in, with_replies
from sgl_explain.log_stream.traceback_text import (
    HEADER,
    exception_in,
    is_call,
    is_connector,
    is_group_end,
    is_group_header,
    is_marker,
    is_member_rule,
    without_margin,
    words_before_header,
)

_MAX_LINES: Final = 20_000
_ANNOUNCES_TRACEBACK: Final = re.compile(r'(?:following exception:|"""|[Tt]raceback:)\s*$')


class FailureText(Protocol):
    """The lines of one failure: ask ``accepts`` before ``read``; ``raised`` says in the end what they told."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing: the last traceback has its exception line, and no other was announced."""

    @property
    def has_traceback(self) -> bool:
        """Whether a traceback was among the lines."""

    def accepts(self, text: str) -> bool:
        """Tell whether a line without a logger's prefix belongs to this failure."""

    def accepts_as_traceback(self, text: str) -> bool:
        """Tell whether a line belongs to this failure's traceback, whatever prefix it has."""

    def expects(self, text: str) -> bool:
        """Tell whether a line is what a traceback that is not complete must go on with."""

    def read(self, text: str) -> None:
        """Take the next line."""

    def raised(self) -> tuple[Raised, ...]:
        """Return what was raised, the outermost first; nothing if the lines tell of no failure."""


def begun_by(text: str, *, of_logger: bool) -> FailureText:
    """Return the failure that begins with a line; ``of_logger`` if a logger's prefix stood before it."""
    if text.startswith("usage: "):
        return UsageText()
    return CrashText(text) if begins_crash(text) else _Failure(text, of_logger=of_logger)


@dataclass(slots=True)
class _Quotation:
    """Calls inside a message, until an exception line shows that they are a traceback, or another that they are not."""

    link: Link = field(default_factory=Link)
    lines: list[str] = field(default_factory=list)


class _Failure:
    """A message, a traceback, or both. A parser's state; it lives while the failure is read and is never shared."""

    def __init__(self, text: str, *, of_logger: bool) -> None:
        self._of_logger = of_logger
        self._warns = False
        self._lines = 0
        self._wrapper: Link | None = None
        self._chain = Chain()
        self._current: Link | None = None
        self._quotation: _Quotation | None = None
        self._indent = ""
        self._is_joined = self._in_group = False
        self.read(text)

    @property
    def is_complete(self) -> bool:
        return not self._is_joined and (self._current is None or self._current.is_named)

    @property
    def has_traceback(self) -> bool:
        return self._chain.has_traceback

    def accepts(self, text: str) -> bool:
        if self._lines >= _MAX_LINES:
            return False
        return self.accepts_as_traceback(text) or self._continues_message(text)

    def accepts_as_traceback(self, text: str) -> bool:
        if self._in_group and (is_member_rule(text) or is_group_end(text)):
            return True
        text = without_margin(text) if self._in_group else text
        if is_connector(text):
            return self.has_traceback
        if HEADER in text:
            return self._expects_header(words_before_header(text))
        if self._is_joined or self._current is None:
            is_member = self._in_group and not self._is_joined and exception_in(text, plainly_named=False) is not None
            return is_member or not text.strip()
        return not self._current.is_named and _is_part(text, self._current)

    def expects(self, text: str) -> bool:
        current = self._current
        is_source = text[:1].isspace() and not is_call(text)
        return current is not None and not current.is_named and current.wants_source == is_source

    def _expects_header(self, words: str) -> bool:
        """Tell whether another traceback may follow: linked, announced, or quoted in this one's exception line."""
        current = self._current
        if self._is_joined or current is None or not self.has_traceback:
            return True
        if not current.is_named:
            return bool(words.strip()) and exception_in(words, plainly_named=False) is not None
        return any(map(_ANNOUNCES_TRACEBACK.search, current.message[-3:]))

    def _continues_message(self, text: str) -> bool:
        current = self._current
        if current is None or not current.is_named or current.is_full or HEADER in text or begins_elsewhere(text):
            return False
        if self.has_traceback or self._quotation:
            return True
        if text[:1].isspace():
            return self._warns or bool(current.types) or self._of_logger
        return not self._warns and (bool(current.types) or self._of_logger) and told_in(text) is None

    def read(self, text: str) -> None:
        self._lines += 1
        if is_group_header(text):
            self._in_group = True
            self._open("")
        elif self._in_group and (is_member_rule(text) or is_group_end(text)):
            self._give_up_quotation()
            self._chain.close_member()
            self._current = None
        else:
            self._read_line(without_margin(text) if self._in_group else text.removeprefix(self._indent))

    def _read_line(self, text: str) -> None:
        current = self._current
        if is_connector(text):
            self._give_up_quotation()
            self._is_joined = True
        elif HEADER in text:
            self._read_header(text)
        elif current is None:
            self._begin(text)
        elif not current.is_named:
            _read_stack(current, text)
        elif self._quotation or is_call(text):
            self._read_quotation(text)
        elif text.strip() != '"""' and not self._is_joined:
            current.add_words([text])

    def _read_header(self, text: str) -> None:
        words = words_before_header(text)
        if words.strip() and self._current is not None and not self._current.is_named:
            _read_stack(self._current, words)
        self._open(words)

    def _open(self, before: str) -> None:
        """Begin a traceback: linked to the one before it, or quoted in the message that is being read."""
        self._give_up_quotation()
        if self._current is None and before.strip():
            words = before.strip()
            warned = warning_in(words)
            self._begin_with(None if warned else told_in(words), warned[1] if warned else words)
        link = Link()
        if self._is_joined and self._current is None:
            self._chain.add_around_group(link)
        elif self._is_joined:
            self._chain.add(link)
        else:
            self._chain.add_quoted(link, self._current)
        self._indent = before if before.isspace() else ""
        self._current, self._is_joined, self._warns = link, False, False

    def _begin(self, text: str) -> None:
        """Read a line where nothing is being read: the first one, or one behind a group."""
        if is_call(text):
            self._open("")
            self._read_line(text)
        elif text.strip():
            self._warns = warning_in(text) is not None
            bare_member = exception_in(text, plainly_named=False) if self._in_group else None
            self._begin_with(bare_member or told_in(text), text)

    def _begin_with(self, told: Told | None, words: str) -> None:
        if told is None:
            self._current = self._wrapper = Link.of(((), words))
        else:
            self._current = Link.of(told)
            self._chain.add(self._current)

    def _read_quotation(self, text: str) -> None:
        quotation = self._quotation = self._quotation or _Quotation()
        quotation.lines.append(text)
        ends = bool(text.strip()) and not text[:1].isspace()
        told = exception_in(text, plainly_named=True) if ends else None
        if told is not None:
            quotation.link.name(told)
            self._chain.add_quoted(quotation.link, self._current)
            self._current, self._quotation = quotation.link, None
        elif ends:
            self._give_up_quotation()
        else:
            _read_stack(quotation.link, text)

    def _give_up_quotation(self) -> None:
        """Count the calls inside a message to its words: they led to no exception."""
        if self._quotation and self._current:
            self._current.add_words(self._quotation.lines)
        self._quotation = None

    def raised(self) -> tuple[Raised, ...]:
        self._give_up_quotation()
        if self._warns and self._current:
            _drop_source_line(self._current)
        first = (self._wrapper.raised(),) if self._wrapper else ()
        told = (reply for raised in (*first, *self._chain.raised()) for reply in with_replies(raised))
        return tuple(raised for raised in told if raised.types or raised.message.strip() or raised.frames)


def _is_part(text: str, link: Link) -> bool:
    """Whether a line may stand between a traceback's header and its exception line, that one included."""
    if not text.strip() or text[:1].isspace() or link.wants_source or is_marker(text):
        return True
    return exception_in(text, plainly_named=False) is not None


def _read_stack(link: Link, text: str) -> None:
    """Read a line between a traceback's header and its exception line."""
    told = None if text[:1].isspace() else exception_in(text, plainly_named=False)
    if is_call(text):
        link.read_call(text)
    elif told is not None:
        link.name(told)
    elif link.wants_source and text.strip() and not is_marker(text):
        link.read_source(text)


def _drop_source_line(link: Link) -> None:
    """Forget the source line that Python prints behind a warning."""
    if len(link.message) > 1 and re.match(r"  \S", link.message[-1]):
        link.message.pop()
