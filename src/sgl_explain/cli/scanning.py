"""``sgl-explain scan``: reads logs one after the other, or follows them all at once."""

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from sgl_explain.cli.sources import chunks_of
from sgl_explain.cli.streams import BAD_USAGE, CannotReadError, complain
from sgl_explain.cli.tellers import TELLER_BY_FORMAT, Log, Teller
from sgl_explain.diagnosis import scan_blocks
from sgl_explain.explanation import Explanation
from sgl_explain.log_stream import blocks_in
from sgl_explain.render.choose import wants_gauge

EXPLAINED: Final = 0
NOTHING: Final = 1

_LONG_FILE_BYTES: Final = 50_000_000


def scan_logs(names: Sequence[str], form: str, *, follow: bool) -> int:
    """Explain the failures of all logs in a form; return the exit status."""
    new_teller = TELLER_BY_FORMAT[form]
    tellers: list[Teller] = []
    try:
        if follow:
            tellers += [new_teller(Log(name, len(names) > 1)) for name in dict.fromkeys(names)]
            is_bad = _follow(tellers)
        else:
            is_bad = False
            for name in names:
                with _gauge(name) as gauge:
                    tellers.append(new_teller(Log(name, len(names) > 1, gauge.hidden)))
                    was_read = _read(tellers[-1], gauge)
                if was_read:
                    tellers[-1].sum_up()
                is_bad |= not was_read
    finally:  # Ctrl-C is how following ends
        new_teller.finish(tellers)
    explained = any(teller.has_explained for teller in tellers)
    return BAD_USAGE if is_bad else EXPLAINED if explained else NOTHING


def _read(teller: Teller, gauge: "_Gauge") -> bool:
    """Tell a log from its beginning to its end, and whether it could be read."""
    try:
        for explanation in _explanations(teller.log.name, on_read=gauge.read):
            teller.add(explanation)
    except CannotReadError as error:
        complain(str(error))
        return False
    return True


def _explanations(
    name: str, *, follow: bool = False, on_read: Callable[[int], None] | None = None
) -> Iterator[Explanation]:
    return scan_blocks(blocks_in(chunks_of(name, follow=follow, on_read=on_read)), unexplained=True)


_News = tuple[Teller, Explanation | CannotReadError | None]


def _follow(tellers: Sequence[Teller]) -> bool:
    """Tell all logs at once, each read in a thread of its own, as long as one goes on; whether one was unreadable.

    Files go on for ever, pipes end. However it ends, each log is summed up.
    """
    news: queue.SimpleQueue[_News] = queue.SimpleQueue()
    for teller in tellers:
        threading.Thread(target=_put_news, args=(teller, news.put), daemon=True).start()
    going_on, is_bad = list(tellers), False
    try:
        while going_on:
            teller, item = news.get()
            if isinstance(item, Explanation):
                teller.add(item)
                continue
            going_on.remove(teller)
            if item is None:
                teller.sum_up()
            else:
                is_bad = bool(complain(str(item)))
    except KeyboardInterrupt:
        for teller in going_on:
            teller.sum_up()
        raise
    return is_bad


def _put_news(teller: Teller, put: Callable[[_News], None]) -> None:
    try:
        for explanation in _explanations(teller.log.name, follow=True):
            put((teller, explanation))
    except CannotReadError as error:
        put((teller, error))
    else:
        put((teller, None))


class _Gauge(Protocol):
    """Shows how far a file is read."""

    def read(self, read_bytes: int, /) -> None: ...

    def hidden(self) -> AbstractContextManager[object]: ...


class _NoGauge:
    def read(self, read_bytes: int, /) -> None:
        pass

    def hidden(self) -> AbstractContextManager[object]:
        return contextlib.nullcontext()


def _gauge(name: str) -> AbstractContextManager[_Gauge]:
    """How far a long file is read, for a person who waits at a terminal."""
    path = Path(name)
    size = path.stat().st_size if name != "-" and path.is_file() else 0
    if size < _LONG_FILE_BYTES or not wants_gauge(sys.stderr):
        return contextlib.nullcontext(_NoGauge())
    from sgl_explain.render.terminal import gauge  # waits: only terminals need rich

    return gauge(path.name, size, sys.stderr)
