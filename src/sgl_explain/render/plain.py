"""The reference form: plain text, 80 columns, for pipes, logs and screen readers."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from sgl_explain.explanation import Explanation
from sgl_explain.render.layout import Block, full_form, short_form

WIDTH: Final = 80
LABEL_WIDTH: Final = 9


def short_text(explanation: Explanation) -> str:
    """Return what it is, why here, the fixes and how to see more; lines of at most 80 columns, but for commands."""
    return _text(short_form(explanation))


def full_text(explanation: Explanation) -> str:
    """Return the whole page of an entry."""
    return _text(full_form(explanation))


def _text(blocks: Iterable[Block]) -> str:
    return "\n".join(line for block in blocks for line in _lines(block))


def _lines(block: Block) -> Iterator[str]:
    if block.role == "title":
        yield from textwrap.wrap(printable(block.text), WIDTH, subsequent_indent="  ")
        return
    label = f"  {block.label}:".ljust(LABEL_WIDTH) if block.label else "  "
    if block.role == "code":
        yield from _code_lines(label, block)
        return
    indent = " " * (LABEL_WIDTH if block.label else 2)
    yield from textwrap.wrap(
        printable(block.text), WIDTH, initial_indent=label.ljust(len(indent)), subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _code_lines(label: str, block: Block) -> Iterator[str]:
    """Code is never wrapped: it is there to be pasted."""
    if block.label:
        yield label.rstrip()
    for line in block.text.splitlines():
        yield (" " * LABEL_WIDTH + printable(line)).rstrip()


def printable(text: str) -> str:
    """Return the text with control characters shown as escapes, so that none is obeyed by a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)
