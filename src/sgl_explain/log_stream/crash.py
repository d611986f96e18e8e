"""Reports of Python's ``faulthandler``: ``Fatal Python error: …`` and the calls of its threads, innermost first."""

import re
from collections import deque
from typing import Final

from sgl_explain.evidence import MAX_FRAMES, Frame, Raised
from sgl_explain.log_stream.traceback_text import frame_in
from sgl_explain.redact import redacted

_MAX_LINES: Final = 5_000
_CRASH: Final = re.compile(r"Fatal Python error: |(?:Current thread|Thread) 0x\w+ .*\(most recent call first\):$")
_PART: Final = re.compile(
    r"\s*$|\s|(?:Current thread|Thread) (?:0x|'s C stack)|Stack \(|Extension modules:|Python runtime|<"
)
_SECTION: Final = re.compile(r"\s*(?:Current thread|Thread |Stack \(|Extension modules:|Python runtime)")


def begins_crash(text: str) -> bool:
    """Tell whether a report of faulthandler, or one of its thread dumps, begins here."""
    return _CRASH.match(text) is not None


class CrashText:
    """A report while it is being read; of the threads, only the first one listed, which is the one that crashed."""

    is_complete = True
    has_traceback = True

    def __init__(self, text: str) -> None:
        self._message = text
        self._frames: deque[Frame] = deque(maxlen=MAX_FRAMES)
        self._is_past_first_thread = False
        self._lines = 1

    def accepts(self, text: str) -> bool:
        """Tell whether a line belongs to the report."""
        return self._lines < _MAX_LINES and _PART.match(text) is not None

    def accepts_as_traceback(self, text: str) -> bool:  # noqa: ARG002 - the same for any text
        """Tell whether a line with a logger's prefix belongs to the report: none does, it does not go through one."""
        return False

    def expects(self, text: str) -> bool:  # noqa: ARG002 - it is complete at any line
        return False

    def read(self, text: str) -> None:
        """Take the next line."""
        self._lines += 1
        if _SECTION.match(text):
            self._is_past_first_thread = bool(self._frames)
        elif not self._is_past_first_thread and (frame := frame_in(text)) is not None:
            self._frames.appendleft(frame)

    def raised(self) -> tuple[Raised, ...]:
        """Return the report's first line and the calls, innermost last as everywhere else."""
        return (Raised((), redacted(self._message), tuple(self._frames)),)
