"""The terminal form: the plain text's words in colour, wrapped to the window, reports as links. The only rich user."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Final, TextIO

from sgl_explain.explanation import Explanation
from sgl_explain.render.layout import Block, full_form, label_width, report_url, short_form
from sgl_explain.render.plain import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID
    from rich.text import Text

_STYLES: Final = {
    "title": "bold yellow", "text": "", "fix": "bold green", "code": "cyan", "hint": "dim", "reports": "",
}  # fmt: skip
_TRAILING_BLANKS: Final = re.compile(r" +((?:\x1b\[0m)?)$")
_LABEL_STYLE: Final = "bold"
_MAX_WIDTH: Final = 100


def coloured(explanation: Explanation, stream: object, *, full: bool = False) -> str:
    """Return the explanation with the escapes that the stream's terminal understands, for its width."""
    blocks = full_form(explanation) if full else short_form(explanation)
    return _rendered(blocks, stream)


class _Gauge:
    """How far a file is read."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress = progress
        self._task = task

    def read(self, read_bytes: int) -> None:
        """Show how many bytes were read so far."""
        self._progress.update(self._task, completed=read_bytes)

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the gauge away while something else is printed."""
        if not self._progress.live.is_started:
            yield
            return
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


@contextlib.contextmanager
def gauge(name: str, size_bytes: int, stream: TextIO) -> Iterator[_Gauge]:
    """Show on a terminal how far a file is read; nothing of it stays."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(file=stream)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False, refresh_per_second=4
    ) as progress:
        yield _Gauge(progress, progress.add_task(printable(name), total=size_bytes))


def _rendered(blocks: Iterable[Block], stream: object) -> str:
    from rich.console import Console  # waits: only terminals need it

    seen = Console(file=stream if hasattr(stream, "write") else None)  # type: ignore[arg-type]  # it has write
    console = Console(
        file=StringIO(), width=min(seen.width, _MAX_WIDTH), force_terminal=True, highlight=False, markup=False,
        emoji=False, color_system=seen.color_system or "standard",  # type: ignore[arg-type]  # rich's own names
        legacy_windows=False,
        force_jupyter=False,
    )  # fmt: skip
    shown = tuple(blocks)
    with console.capture() as captured:
        for block in shown:
            _print_block(console, block, label_width(shown))
    return "\n".join(_TRAILING_BLANKS.sub(r"\1", line) for line in captured.get().splitlines())


def _print_block(console: "Console", block: Block, width: int) -> None:
    from rich.text import Text

    style, text = _STYLES[block.role], printable(block.text)
    if block.role == "title":
        console.print(Text(text, style))
    elif block.role == "code":
        if block.label:
            console.print(Text(f"  {block.label}:", _LABEL_STYLE))
        for line in text.splitlines():
            console.print(Text(" " * width + line, style), soft_wrap=True)
    else:
        console.print(_labelled(block, width, _linked(block) if block.role == "reports" else Text(text, style)))


def _labelled(block: Block, width: int, body: "RenderableType") -> "RenderableType":
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if not block.label:
        return Padding(body, (0, 0, 0, 2))
    grid = Table.grid(padding=0)
    grid.add_column(width=width)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"  {block.label}:", _LABEL_STYLE), body)
    return grid


def _linked(block: Block) -> "Text":
    from rich.text import Text

    links = [Text(report, f"link {report_url(report)}" if report_url(report) else "") for report in block.items]
    return Text(", ").join(links)
