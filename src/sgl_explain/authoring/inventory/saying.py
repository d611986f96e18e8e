"""One thing an SGLang release can say to a user, as read from its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["raise", "assert", "log", "warning", "http", "abort", "parser", "print"]


@dataclass(frozen=True, slots=True)
class Saying:
    """A statement that shows a user something, with one of the texts it can show.

    A statement with several possible texts gives one saying for each of them.
    """

    module: str
    """Dotted name: ``sglang.srt.server_args``."""
    function: str
    """Qualified name inside the module, ``ServerArgs.check`` or ``outer.inner``; empty at module level."""
    lineno: int
    kind: Kind
    exception: str | None
    """Class name as written; ``AssertionError`` for asserts; None where nothing is raised."""
    template: str | None
    """The text with its values as ``{holes}`` and literal braces doubled; None if the site has no text of its own."""
    source_line: str
    """First source line of the statement, stripped, as a traceback shows it."""
    level: str | None = None
    """``warning``, ``error``, ``critical`` for logs; ``exception`` counts as ``error``."""
    via: str | None = None
    """``module:function`` of the helper that shows the text it is handed here; its frame is the innermost."""
