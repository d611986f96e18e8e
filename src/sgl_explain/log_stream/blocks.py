"""Bytes of a log as they arrive, cut into blocks of whole lines in bounded memory."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

BLOCK_BYTES: Final = 64 * 1024
"""Small enough for a processor's cache, which is what makes the sieve fast."""

MAX_LINE_BYTES: Final = 256 * 1024


class Gap(Enum):
    """What may happen between two pieces of a log that is still being written."""

    SILENCE = "nothing more came for a while"
    NEW_FILE = "the file was rotated; lines are counted from 1 again"


def blocks_in(chunks: Iterable[bytes | Gap]) -> Iterator[bytes | Gap]:
    """Yield blocks of whole lines, without the end of their last line; a line without an end comes last.

    A line longer than 256 KiB is cut there. What carriage returns have erased does not count, so that a progress bar
    may run for days.
    """
    begun = _Begun()
    for chunk in chunks:
        if isinstance(chunk, Gap):
            if chunk is Gap.NEW_FILE and (rest := begun.take()):
                yield rest
            yield chunk
            continue
        lines, end, rest = chunk.rpartition(b"\n")
        if end:
            yield begun.take() + lines if not begun.is_cut else begun.ended_by(lines)
        begun.add(rest)
    if rest := begun.take():
        yield rest


class _Begun:
    """A line that has begun and not ended yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self.is_cut = False

    def add(self, piece: bytes) -> None:
        if piece and not self.is_cut:
            self._pieces.append(piece)
            self._size += len(piece)
        if self._size > MAX_LINE_BYTES and not self.is_cut:
            self._shrink()

    def take(self) -> bytes:
        """Return what there is of the line, and begin another one."""
        line = b"".join(self._pieces)
        self._pieces, self._size, self.is_cut = [], 0, False
        return line

    def ended_by(self, lines: bytes) -> bytes:
        """Return the cut line without its end, and the whole lines behind it."""
        _, _, others = lines.partition(b"\n")
        return self.take() + b"\n" + others if b"\n" in lines else self.take()

    def _shrink(self) -> None:
        line = b"".join(self._pieces)
        kept = line.rpartition(b"\r")[2]
        self.is_cut = len(kept) > MAX_LINE_BYTES
        self._pieces = [kept[:MAX_LINE_BYTES]]
        self._size = len(self._pieces[0])
