"""What a line that stands outside any traceback says: an exception, a warning, argparse's complaint, or just words."""

import re
from typing import Final

from sgl_explain.evidence import Raised, replies_in
from sgl_explain.log_stream.traceback_text import exception_in

Told = tuple[tuple[str, ...], str]
"""Type names and a message."""

_WARNING: Final = re.compile(r"\S{1,500}\.py:\d+: (?P<type>\w*Warning): (?P<message>.*)$", re.DOTALL)
_COMPLAINT: Final = re.compile(r"(?P<program>[\w./+-]+(?: [\w./+-]+){0,3}): error: (?P<message>.*)$", re.DOTALL)
_BUILD_TOOLS: Final = frozenset({
    "ninja", "ld", "gcc", "g++", "cc", "cc1plus", "clang", "clang++", "nvcc", "ptxas", "collect2", "hipcc", "cmake",
    "make", "git",
})  # fmt: skip
_ELSEWHERE: Final = re.compile(
    r"\S{1,500}\.py:\d+: \w*Warning: |Fatal Python error: |Process \S+:$|Exception in thread |Exception ignored in"
    r"|Killed\b|usage: |terminate called |.{0,200}\d%\||\S{1,100}: (?:line \d+: +)?\d+ [A-Z]\w+ "
)


def warning_in(text: str) -> Told | None:
    """Return what Python's ``warnings`` print: ``…/awq.py:53: UserWarning: …``."""
    found = _WARNING.match(text)
    return ((found["type"],), found["message"]) if found else None


def complaint_in(text: str) -> Told | None:
    """Return what argparse says before it leaves with ``SystemExit``; compilers that word it alike are left out."""
    found = _COMPLAINT.match(text) if ": error: " in text else None
    if found is None or found["program"].rpartition("/")[2] in _BUILD_TOOLS:
        return None
    return ("SystemExit",), found["message"]


def told_in(text: str) -> Told | None:
    """Return the exception that a line names by itself; None for mere words."""
    return warning_in(text) or complaint_in(text) or exception_in(text, plainly_named=True)


def begins_elsewhere(text: str) -> bool:
    """Tell whether a line without a prefix opens something of its own, and so continues no message."""
    return _ELSEWHERE.match(text) is not None


class UsageText:
    """The usage text that argparse prints before its complaint: no failure, but lines to be passed over."""

    is_complete = True
    has_traceback = False

    def accepts(self, text: str) -> bool:
        return text[:1].isspace()

    def accepts_as_traceback(self, text: str) -> bool:  # noqa: ARG002 - the same for any text
        return False

    def expects(self, text: str) -> bool:  # noqa: ARG002 - it is complete at any line
        return False

    def read(self, text: str) -> None:
        pass

    def raised(self) -> tuple[Raised, ...]:
        return ()


def with_replies(raised: Raised) -> tuple[Raised, ...]:
    """Return what was raised and the messages of an HTTP error body inside it; of a bare body, only those."""
    told = replies_in(raised.message)
    is_body = not raised.types and raised.message.lstrip().startswith(("{", "data:"))
    return told if told and is_body else (raised, *told)
