"""Bytes as they arrive, cut into whole lines."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from sgl_explain.log_stream import Gap, blocks_in
from sgl_explain.log_stream.blocks import MAX_LINE_BYTES


def lines_of(chunks: Iterable[bytes | Gap]) -> list[bytes]:
    return [line for block in blocks_in(chunks) if not isinstance(block, Gap) for line in block.split(b"\n")]


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"\n")), st.integers(1, 40))
def test_lines_stay_as_they_are_however_they_are_cut(data: bytes, size: int) -> None:
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    lines = data.split(b"\n")

    assert lines_of(chunks) == (lines if lines[-1] else lines[:-1])


def test_an_endless_line_is_cut_and_the_next_one_is_whole() -> None:
    chunks = [b"x" * 100_000] * 10 + [b"end\nnext\nlast"]

    first, *others = lines_of(chunks)

    assert first == b"x" * MAX_LINE_BYTES
    assert others == [b"next", b"last"]


def test_a_progress_bar_without_end_leaves_what_stands_behind_it() -> None:
    bar = b"\r".join(b"%d%%|####| %d/100 [00:01<00:00, 3.2it/s]" % (n, n) for n in range(100))

    (line,) = lines_of([bar] * 200 + [b"\rError: at last\n"])

    assert len(line) < 2 * MAX_LINE_BYTES
    assert line.endswith(b"\rError: at last")


def test_a_silent_log_keeps_a_line_that_has_only_begun() -> None:
    assert list(blocks_in([b"a\nb", Gap.SILENCE, b"c\n"])) == [b"a", Gap.SILENCE, b"bc"]


def test_a_new_file_ends_the_last_line_of_the_old_one() -> None:
    assert list(blocks_in([b"a\nb", Gap.NEW_FILE, b"c\n"])) == [b"a", b"b", Gap.NEW_FILE, b"c"]
