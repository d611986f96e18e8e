"""Printing an explanation in the form that a stream can take."""

import os
from typing import TextIO

from sgl_explain.explanation import Explanation


def print_explanation(explanation: Explanation, stream: TextIO, *, full: bool = False) -> None:
    """Print to a stream: in colour on a terminal or where FORCE_COLOR asks for it, plain text elsewhere.

    The text is written in one piece, so that lines of other processes do not come between.
    """
    stream.write(text_for(explanation, stream, full=full) + "\n")
    stream.flush()


def text_for(explanation: Explanation, stream: object, *, full: bool = False) -> str:
    """Return the text of the form that a stream takes; what is no stream takes plain text."""
    if wants_colour(stream):
        from sgl_explain.render.terminal import coloured  # waits: only terminals need rich

        return coloured(explanation, stream, full=full)
    from sgl_explain.render.plain import full_text, short_text

    return full_text(explanation) if full else short_text(explanation)


def wants_colour(stream: object) -> bool:
    """Tell whether a stream takes the terminal form.

    https://no-color.org and https://force-color.org: a value that is not empty counts; TERM=dumb is plain.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or bool(getattr(stream, "isatty", bool)())


def wants_gauge(stream: object) -> bool:
    """Tell whether a stream is a terminal that can rewrite its last line."""
    is_terminal = getattr(stream, "isatty", None)
    return bool(is_terminal and is_terminal()) and os.environ.get("TERM") != "dumb"
