"""Following a log as ``tail -F`` does: not there yet, growing, truncated, replaced by another file of its name."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from sgl_explain.log_stream.blocks import BLOCK_BYTES, Gap

POLL_S: Final = 0.25
SILENCE_S: Final = 1.0


def followed(path: Path, on_wait: Callable[[], None]) -> Iterator[bytes | Gap]:
    """Yield what is in a file, then what is added to it, for ever; ``on_wait`` is called once where it is not there.

    A second without news yields one `Gap.SILENCE`. Rotation by rename is seen by the file's identity, once the old
    one is read to its end; by truncation (copytruncate), by its size.
    """
    has_waited = False
    while True:
        try:
            file = path.open("rb", buffering=0)
        except FileNotFoundError:
            if not has_waited:
                on_wait()
            has_waited = True
            time.sleep(POLL_S)
            continue
        with file:
            yield from _growth_of(file, path)
        yield Gap.NEW_FILE


def _growth_of(file: IO[bytes], path: Path) -> Iterator[bytes | Gap]:
    """Yield what a file has and gets, until another one is there in its place, or it was emptied."""
    silent_since: float | None = time.monotonic()
    while True:
        # Asked before the last read, so that nothing written in between is lost.
        is_old = _is_replaced(file, path)
        while chunk := file.read(BLOCK_BYTES):
            yield chunk
            silent_since = time.monotonic()
        if is_old:
            return
        if silent_since is not None and time.monotonic() - silent_since >= SILENCE_S:
            silent_since = None
            yield Gap.SILENCE
        time.sleep(POLL_S)


def _is_replaced(file: IO[bytes], path: Path) -> bool:
    here = os.fstat(file.fileno())
    if here.st_size < file.tell():
        return True
    try:
        there = path.stat()
    except FileNotFoundError:  # renamed, and no new one yet
        return False
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)
