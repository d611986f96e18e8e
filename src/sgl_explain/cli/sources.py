"""Where a log comes from: a file, plain or compressed, or standard input."""

import os
import select
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Final

from sgl_explain.cli.compression import compression_of, decompressed
from sgl_explain.cli.following import SILENCE_S, followed
from sgl_explain.cli.streams import complain, reading, standard_input
from sgl_explain.log_stream.blocks import BLOCK_BYTES, Gap

STANDARD_INPUT: Final = "standard input"
_MAGIC_BYTES: Final = 4


def chunks_of(
    name: str, *, follow: bool = False, on_read: Callable[[int], None] | None = None
) -> Iterator[bytes | Gap]:
    """Yield the bytes of a log, ``-`` being standard input, as they come; raises CannotReadError.

    With ``follow``, a plain file is read on for ever. ``on_read`` is told how many bytes of the file were read so far.
    """
    if name == "-":
        with reading(STANDARD_INPUT):
            yield from _from_descriptor(standard_input().fileno())
        return
    with reading(name):
        if follow and not _is_compressed(name):
            yield from followed(Path(name), lambda: _say(name, "not there yet; waiting for it"))
        else:
            yield from _from_file(name, on_read or _unheeded)


def _from_file(name: str, on_read: Callable[[int], None]) -> Iterator[bytes]:
    with Path(name).open("rb", buffering=0) as file:
        for text in _unpacked(_blocks(file), name, file):
            yield text
            on_read(file.tell())


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _unpacked(chunks: Iterator[bytes], name: str, file: IO[bytes] | None) -> Iterator[bytes]:
    """Yield the chunks of a log, uncompressed where it is compressed."""
    first = next(chunks, b"")
    magic = compression_of(first)
    everything = chain([first], chunks)
    return decompressed(everything, magic, name, lambda why: _say(name, why), file) if magic else everything


def _is_compressed(name: str) -> bool:
    path = Path(name)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return bool(compression_of(file.read(_MAGIC_BYTES)))


def _from_descriptor(descriptor: int) -> Iterator[bytes | Gap]:
    """Yield what a pipe, a terminal or a redirected file gives, a compressed one unpacked."""
    first = os.read(descriptor, BLOCK_BYTES)
    if compression_of(first):
        yield from _unpacked(chain([first], iter(lambda: os.read(descriptor, BLOCK_BYTES), b"")), STANDARD_INPUT, None)
        return
    while first:
        yield first
        if not _speaks_within(descriptor, SILENCE_S):
            yield Gap.SILENCE
        first = os.read(descriptor, BLOCK_BYTES)


def _speaks_within(descriptor: int, seconds: float) -> bool:
    """Tell whether something comes in time; on Windows, where select knows only sockets, that is not asked."""
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    except (OSError, ValueError):
        return True


def _say(name: str, what: str) -> None:
    complain(f"{name}: {what}")


def _unheeded(_: int) -> None:
    pass
