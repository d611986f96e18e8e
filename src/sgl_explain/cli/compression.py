"""Compressed logs, told by their first bytes: gzip and zstd, of several members, cut off or not."""

import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Final, Protocol, cast

from sgl_explain.cli.streams import CannotReadError
from sgl_explain.log_stream.blocks import BLOCK_BYTES

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_WBITS: Final = 31
# A kilobyte of zstd holds at most some 300 blocks of 128 KiB; of gzip, 16 KiB come to at most 16 MiB.
_PIECE_BYTES: Final = {GZIP: 16 * 1024, ZSTD: 1024}
_NO_ZSTD: Final = "it is compressed with zstd; pip install zstandard, or install the zstd program, to read it"


class _Member(Protocol):
    """What zlib, zstandard and compression.zstd have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def compression_of(start: bytes) -> bytes:
    """Return the magic number with which a file begins; empty for plain text."""
    return next((magic for magic in (GZIP, ZSTD) if start.startswith(magic)), b"")


def decompressed(
    chunks: Iterable[bytes], magic: bytes, source: str, on_cut: Callable[[str], None], file: IO[bytes] | None = None
) -> Iterator[bytes]:
    """Yield the text of a compressed log, all its members; what follows a damaged place is given up and told.

    ``file`` is what the chunks are read from, where another program can read it from its start. Raises CannotReadError
    where nothing on this machine can read it.
    """
    new_member = _gzip_member if magic == GZIP else _zstd_member()
    if new_member is not None:
        yield from _members(_in_pieces(chunks, _PIECE_BYTES[magic]), new_member, on_cut)
    elif file is not None and shutil.which("zstd"):
        yield from _by_program(file, on_cut)
    else:
        raise CannotReadError(source, _NO_ZSTD)


def _gzip_member() -> _Member:
    return zlib.decompressobj(_GZIP_WBITS)


def _zstd_member() -> Callable[[], _Member] | None:
    try:
        from compression.zstd import ZstdDecompressor as OfStandardLibrary  # waits: Python 3.14 and newer have it
    except ImportError:
        pass
    else:
        return cast("Callable[[], _Member]", OfStandardLibrary)
    try:
        from zstandard import ZstdDecompressor  # waits: an optional extra, which only such files need
    except ImportError:
        return None
    return lambda: ZstdDecompressor().decompressobj()


def _in_pieces(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            yield chunk[start : start + size]


def _members(
    pieces: Iterable[bytes], new_member: Callable[[], _Member], on_cut: Callable[[str], None]
) -> Iterator[bytes]:
    member = new_member()
    is_begun = False
    for piece in pieces:
        rest = piece
        while rest.strip(b"\0"):  # tapes and block devices pad with zeros
            if member.eof:
                member = new_member()
            try:
                text = member.decompress(rest)
            except Exception as error:  # noqa: BLE001 - each library has an exception of its own
                on_cut(f"damaged ({error}); what stands before was read")
                return
            yield text
            is_begun, rest = True, member.unused_data if member.eof else b""
    if is_begun and not member.eof:
        on_cut("cut off; what is there was read")


def _by_program(file: IO[bytes], on_cut: Callable[[str], None]) -> Iterator[bytes]:
    file.seek(0)
    command = ["zstd", "-dcq"]
    with subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:  # noqa: S603 - fixed words
        assert program.stdout is not None  # noqa: S101 - a pipe was asked for
        while text := program.stdout.read(BLOCK_BYTES):
            yield text
    if program.returncode:
        on_cut("cut off or damaged; what is there was read")
