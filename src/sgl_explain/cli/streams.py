"""Standard streams and files as a command line meets them: closed, broken, of any encoding."""

import codecs
import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Final, TextIO

from sgl_explain.errors import SglExplainError

DONE: Final = 0
BAD_USAGE: Final = 2

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def prepare_streams() -> None:
    """Let nothing that is written raise for its encoding, and give complaints a place where there is none."""
    if not is_open(sys.stderr):
        sys.stderr = io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) in ("strict", "surrogateescape"):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # most streams have it


def is_open(stream: TextIO | None) -> bool:
    """Tell whether a stream is there; Python has None where the descriptor was closed before it started (``<&-``)."""
    return stream is not None and not getattr(stream, "closed", False)


def complain(problem: str) -> int:
    """Say in one line what is wrong, on standard error; return the exit status of bad usage."""
    print(f"sgl-explain: {problem}", file=sys.stderr)
    return BAD_USAGE


def give_up_writing(error: OSError) -> int:
    """Return the exit status after a write that failed: silent where the reader left, a line where it did not."""
    # what is still buffered would be tried again at exit: https://docs.python.org/3/library/signal.html#note-on-sigpipe
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # the reader (head, less) went away
        return DONE
    return complain(f"cannot write: {error.strerror or error}")


class CannotReadError(SglExplainError):
    """What was to be read cannot be."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Tell what fails in reading from what fails in writing."""
    try:
        yield
    except OSError as error:
        raise CannotReadError(name, error.strerror or str(error)) from error


def standard_input() -> TextIO:
    """Return standard input; raises CannotReadError where it is closed."""
    if not is_open(sys.stdin):
        raise CannotReadError("standard input", "it is closed")
    return sys.stdin


def print_json(line: str) -> None:
    """Print valid UTF-8 (RFC 8259), whatever is in the line and whatever the stream's encoding is."""
    valid = _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", line)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(valid if codecs.lookup(encoding).name == "utf-8" else json.dumps(json.loads(valid)))
