"""The sieve lets every line through that can matter."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sgl_explain
from sgl_explain.entry import Entry
from sgl_explain.entry_files import read_entries
from sgl_explain.log_stream import Incident, Sieve, blocks_in, incidents, incidents_in_blocks
from sgl_explain.log_stream.sieve import Kind, words_of

KNOWN = sgl_explain.knowledge()
ENTRIES = read_entries(Path(sgl_explain.__file__).parent / "data" / "entries")
QUIET = [
    f"[2025-08-08 09:09:{second:02} TP{second % 8}] Decode batch, #running-req: {second}, token usage: 0.{second}"
    for second in range(40)
]


def in_lines(lines: list[str]) -> list[Incident]:
    """What is found where every line is looked at."""
    return list(incidents(lines, interesting=KNOWN.speaks_of))


def in_blocks(lines: list[str], size: int = 1_000) -> list[Incident]:
    """What is found where blocks are sifted."""
    data = "".join(f"{line}\n" for line in lines).encode()
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    sieve = Sieve(KNOWN.speaks_of_words)
    return list(incidents_in_blocks(blocks_in(chunks), interesting=KNOWN.speaks_of, sieve=sieve))


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_no_entry_is_missed_for_the_sieve(entry: Entry) -> None:
    for number, test in enumerate(entry.tests):
        prefix = ("", "[2025-08-08 09:09:09 TP3] ")[number % 2]
        lines = [*QUIET, *f"{prefix}{test.traceback or test.message}".splitlines(), *QUIET]

        assert in_blocks(lines) == in_lines(lines), test


@pytest.mark.parametrize(
    "line",
    [
        "[rank3]:[E808 09:09:09.123456789 ProcessGroupNCCL.cpp:1895] [Rank 1] gone",
        "W0808 09:09:09.000000 140 torch/elastic/agent.py:12] gone",
        "已杀死",
        "Killed",
        '  File "/x/sglang/a.py", line 1, in f',
        "usage: launch_server.py [-h] --model-path MODEL_PATH",
        "2025-08-08T09:09:09.1Z stderr P the first part",
        "\x1b[31mErr\x1b[0mor: half in colour",
        r'{"log":"first\nTraceback (most recent call last):"}',
    ],
)
def test_a_line_that_may_begin_a_failure_is_a_hit(line: str) -> None:
    assert Sieve().sift(line.encode()).hits


def test_lines_that_differ_in_their_numbers_are_judged_once() -> None:
    asked: list[frozenset[str]] = []
    sieve = Sieve(lambda words: bool(asked.append(words)))
    sifted = sieve.sift("\n".join(QUIET).encode())

    assert len(sifted.shapes) == 40
    assert len(asked) == 1
    assert sifted.facts


def test_what_is_known_of_shapes_stays_bounded() -> None:
    sieve = Sieve()
    for number in range(60):
        letters = [chr(97 + int(digit)) for digit in f"{number:02}"]
        sieve.sift("\n".join(f"{''.join(letters)}{'x' * width}" for width in range(1000)).encode())

    assert sum(map(len, sieve._shapes_by_kind.values())) <= 21_000


@given(st.lists(st.text(alphabet="aB1_ .,'[]\\n\x1b", max_size=30), max_size=5))
def test_every_word_is_seen_however_the_digits_stand(words: list[str]) -> None:
    line = " ".join(words)
    template_words = {"".join(char for char in word if not char.isdigit()) for word in line.split() if word.isalnum()}

    if "\\" not in line and "\x1b" not in line:
        assert {word.lower() for word in template_words if len(word) > 1} <= words_of(line.encode())


def test_the_kinds_of_a_quiet_server_are_no_hits() -> None:
    sieve = Sieve(KNOWN.speaks_of_words)

    for line in (QUIET[0], '[2025-08-08 09:09:09] INFO:     1.2.3.4:5 - "POST /generate HTTP/1.1" 200 OK'):
        sifted = sieve.sift(line.encode())
        assert sieve.kind_of(line.encode(), sifted.shapes[0]) in (Kind.NOTHING, Kind.FACT)
