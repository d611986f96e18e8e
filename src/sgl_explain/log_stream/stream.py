"""Failures in a stream of log lines: each with its evidence and the lines where it stands.

Lines of several processes may be mixed. Where they say who wrote them, each failure is read apart; at most 64 are
open at once, so that memory stays constant however long the log is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from sgl_explain.evidence import Context, Evidence
from sgl_explain.log_stream.facts import LogFacts
from sgl_explain.log_stream.failure import FailureText, begun_by
from sgl_explain.log_stream.line import LineReader, LogLine
from sgl_explain.log_stream.sieve import ERROR_WORDS
from sgl_explain.log_stream.traceback_text import HEADER, exception_in, is_call

MAX_OPEN: Final = 64
_MAX_FOREIGN_LINES: Final = 40
_MAX_IDLE_LINES: Final = 2_000
# Two processes that print at once have both begun before either is past its first call.
_MAX_LINES_AT_ONCE: Final = 2

_ERROR_LEVELS: Final = frozenset({"ERROR", "CRITICAL", "FATAL", "WARNING", "WARN"})
_MARKS: Final = (*ERROR_WORDS, 'file "', "[-h]")


@dataclass(frozen=True, slots=True)
class Incident:
    """A failure found in a log: its evidence, and the numbers of its first and last line, counted from 1."""

    evidence: Evidence
    line: int
    last_line: int


@dataclass(slots=True)
class _Open:
    """A failure that is being read."""

    head: LogLine
    line: int
    last_line: int
    phase: str | None
    text: FailureText
    lines: int = 1
    foreign_lines: int = 0
    idle_lines: int = 0

    def takes(self, line: LogLine) -> bool:
        """Tell whether a line belongs here: no new record, or a prefix that is repeated on a traceback's lines."""
        if line.source != self.head.source:
            return False
        if not line.starts_record:
            return self.text.accepts(line.text)
        same = line.rank == self.head.rank and self.head.starts_record and self.text.has_traceback
        is_next = HEADER in line.text and self.text.is_complete
        return same and not is_next and self.text.accepts_as_traceback(line.text)

    def is_over_at(self, line: LogLine) -> bool:
        """Tell whether a line that belongs elsewhere ends this failure."""
        self.idle_lines += 1
        if line.source != self.head.source:
            return self.idle_lines > _MAX_IDLE_LINES
        self.foreign_lines += 1
        is_next = HEADER in line.text and self.lines > _MAX_LINES_AT_ONCE
        return self.text.is_complete or is_next or self.foreign_lines > _MAX_FOREIGN_LINES

    def read(self, number: int, line: LogLine) -> None:
        self.text.read(line.text)
        self.last_line = number if line.text.strip() else self.last_line
        self.lines, self.idle_lines = self.lines + 1, 0


class IncidentStream:
    """Reads a log line by line. A parser's state: what is open and what is known at one point of the log."""

    def __init__(self, context: Context, interesting: Callable[[str], bool] | None) -> None:
        self._context = context
        self._interesting = interesting
        self._reader = LineReader()
        self._open: list[_Open] = []
        self._facts = LogFacts()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for its next line, so that lines may be passed over."""
        return not self._open and not self._reader.waits

    @property
    def knows_sglang(self) -> bool:
        """Whether the log is known to be SGLang's."""
        return self._facts.sglang_in_picture

    def take(self, number: int, raw: str) -> Iterator[Incident]:
        """Read the next line, and yield the failures that it ends."""
        for line in self._reader.read(raw):
            yield from self._take(number, line)

    def notice(self, raw: str) -> None:
        """Take in what a line that begins no failure tells about the server."""
        for line in self._reader.read(raw):
            self._facts.notice(line)

    def pause(self) -> Iterator[Incident]:
        """Yield what is complete as it stands."""
        yield from self._close([failure for failure in self._open if failure.text.is_complete])

    def end(self) -> Iterator[Incident]:
        """Yield what is still open."""
        yield from self._close(list(self._open))

    def _take(self, number: int, line: LogLine) -> Iterator[Incident]:
        self._facts.notice(line)
        taker = self._taker_of(line)
        over = [failure for failure in self._open if failure is not taker and failure.is_over_at(line)]
        yield from self._close(over)
        if taker is not None:
            taker.read(number, line)
        elif self._begins_failure(line):
            yield from self._close(self._open[: 1 - MAX_OPEN] if len(self._open) >= MAX_OPEN else [])
            self._begin(number, line)

    def _taker_of(self, line: LogLine) -> _Open | None:
        """The failure to which a line belongs: of several unmarked ones, that which expects it, longest unfed first."""
        takers = [failure for failure in reversed(self._open) if failure.takes(line)]
        unfinished = [failure for failure in takers if not failure.text.is_complete and not line.starts_record]
        if len(unfinished) > 1:
            return min(unfinished, key=lambda failure: (not failure.text.expects(line.text), failure.last_line))
        return takers[0] if takers else None

    def _begins_failure(self, line: LogLine) -> bool:
        text, lower = line.text, line.text.lower()
        if not text.strip() or text.startswith("server_args="):
            return False
        if line.level in _ERROR_LEVELS:
            return True
        if _bears_mark(lower) and (line.starts_record or _is_no_quotation(text)):
            return True
        return self._interesting is not None and self._interesting(text)

    def _begin(self, number: int, line: LogLine) -> None:
        text = begun_by(line.text, of_logger=line.starts_record)
        self._open.append(_Open(line, number, number, self._facts.phase_of(line.source), text))

    def _close(self, over: list[_Open]) -> Iterator[Incident]:
        for failure in over:
            self._open.remove(failure)
            raised = failure.text.raised()
            if raised:
                yield Incident(Evidence(raised, self._context_of(failure)), failure.line, failure.last_line)

    def _context_of(self, failure: _Open) -> Context:
        known, facts = self._context, self._facts
        return replace(
            known,
            sglang_in_picture=known.sglang_in_picture or facts.sglang_in_picture,
            release=known.release or facts.release,
            command=known.command or facts.command,
            phase=failure.phase or known.phase,
            rank=failure.head.rank or known.rank,
        )


def _bears_mark(lower: str) -> bool:
    # A plain loop: a generator or a regex takes twice as long.
    for word in _MARKS:  # noqa: SIM110
        if word in lower:
            return True
    return False


def _is_no_quotation(text: str) -> bool:
    """Whether an unprefixed line speaks for itself; an indented one mostly is the source line of a warning."""
    if not text[:1].isspace() or is_call(text) or HEADER in text:
        return True
    return exception_in(text.strip(), plainly_named=True) is not None
