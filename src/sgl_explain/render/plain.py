"""The reference form: plain text, 80 columns, for pipes, logs and screen readers."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from sgl_explain.explanation import Explanation
from sgl_explain.render.layout import Block, full_form, label_width, short_form

WIDTH: Final = 80


def short_text(explanation: Explanation) -> str:
    """Return what it is, why here, the fixes and how to see more; lines of at most 80 columns, but for commands."""
    return _text(short_form(explanation))


def full_text(explanation: Explanation) -> str:
    """Return the whole page of an entry."""
    return _text(full_form(explanation))


def _text(blocks: Iterable[Block]) -> str:
    shown = tuple(blocks)
    width = label_width(shown)
    return "\n".join(line for block in shown for line in _lines(block, width))


def _lines(block: Block, width: int) -> Iterable[str]:
    match block.role:
        case "title":
            return textwrap.wrap(printable(block.text), WIDTH, subsequent_indent="  ")
        case "code":
            return _code_lines(block, width)
        case _:
            label = f"  {block.label}:".ljust(width) if block.label else "  "
            return textwrap.wrap(
                printable(block.text), WIDTH, initial_indent=label, subsequent_indent=" " * len(label),
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def _code_lines(block: Block, width: int) -> Iterator[str]:
    """Code is never wrapped: it is there to be pasted."""
    if block.label:
        yield f"  {block.label}:"
    for line in block.text.splitlines():
        yield (" " * width + printable(line)).rstrip()


def printable(text: str) -> str:
    """Return the text with control characters shown as escapes, so that none is obeyed by a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)
