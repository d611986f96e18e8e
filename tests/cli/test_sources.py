"""Logs as they lie and grow: compressed, cut, rotated, not there yet, many at once."""

import gzip
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgl_explain.cli import compression, main

FAILURE = """\
[2025-08-08 09:09:10 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 5584, in run_scheduler_process
    scheduler = Scheduler(
ModuleNotFoundError: No module named 'vllm'

"""
FAILURE_ID = "cpu-engine-off-vllm-missing"
QUIET = "[2025-08-08 09:09:09 TP0] Decode batch, #running-req: 1, #token: 40\n"
SCAN = [sys.executable, "-m", "sgl_explain", "scan", "--json"]


def ids(text: str) -> list[tuple[str, int]]:
    return [(record["id"], record["line"]) for record in map(json.loads, text.splitlines())]


def zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd as standard

        return standard.compress(data)
    import zstandard

    return zstandard.compress(data)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_log_is_read_whatever_its_name(pack, members, tmp_path, capsys):
    log = tmp_path / "server.log.1"
    log.write_bytes(b"".join(pack((QUIET * 10).encode()) for _ in range(members - 1)) + pack(FAILURE.encode()))

    assert main(["scan", "--json", str(log)]) == 0
    assert ids(capsys.readouterr().out) == [(FAILURE_ID, 10 * (members - 1) + 1)]


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_compressed_log_may_come_through_a_pipe(pack):
    done = subprocess.run([*SCAN, "-"], input=pack(FAILURE.encode()), capture_output=True, check=True)

    assert ids(done.stdout.decode()) == [(FAILURE_ID, 1)]


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_of_a_log_that_was_cut_off_the_rest_is_read_and_the_cut_is_told(pack, tmp_path, capsys):
    noise = "".join(f"[2025-08-08 09:09:09] {os.urandom(40).hex()}\n" for _ in range(20_000))
    log = tmp_path / "server.log"
    log.write_bytes(pack((FAILURE + noise).encode())[:-1000])

    assert main(["scan", "--json", str(log)]) == 0
    captured = capsys.readouterr()
    assert ids(captured.out) == [(FAILURE_ID, 1)]
    assert captured.err == f"sgl-explain: {log}: cut off; what is there was read\n"


def test_a_damaged_place_is_told(tmp_path, capsys):
    log = tmp_path / "server.log"
    log.write_bytes(gzip.compress(FAILURE.encode()) + b"no gzip at all")

    assert main(["scan", "--json", str(log)]) == 0
    captured = capsys.readouterr()
    assert ids(captured.out) == [(FAILURE_ID, 1)]
    assert "damaged" in captured.err


def test_the_zstd_program_does_where_there_is_no_library(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compression, "_zstd_member", lambda: None)
    log = tmp_path / "server.log.zst"
    log.write_bytes(zstd(FAILURE.encode()) * 2)

    assert main(["scan", "--json", str(log)]) == 0
    assert ids(capsys.readouterr().out) == [(FAILURE_ID, 1), (FAILURE_ID, 6)]


def test_without_any_reader_of_zstd_one_line_says_what_would_help(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compression, "_zstd_member", lambda: None)
    monkeypatch.setenv("PATH", "")
    log = tmp_path / "server.log.zst"
    log.write_bytes(zstd(FAILURE.encode()))

    assert main(["scan", str(log)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "pip install zstandard" in captured.err


class Following:
    """A ``scan --follow`` that runs, and what it says."""

    def __init__(self, *files: Path) -> None:
        self.process = subprocess.Popen(
            [*SCAN, "--follow", *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        self.records: queue.Queue[dict[str, object]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.records.put(json.loads(line))

    def next(self) -> tuple[object, object]:
        record = self.records.get(timeout=60)
        return record["id"], record["line"]


@pytest.fixture
def following() -> Iterator[list[Following]]:
    started: list[Following] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_the_last_failure_of_a_live_log_does_not_wait_for_the_next_line(tmp_path, following):
    log = tmp_path / "server.log"
    log.write_text(QUIET + FAILURE)
    following.append(Following(log))

    assert following[0].next() == (FAILURE_ID, 2)


def test_a_log_is_followed_through_rotation_by_rename_and_by_truncation(tmp_path, following):
    log = tmp_path / "server.log"
    following.append(Following(log))
    assert "not there yet" in following[0].process.stderr.readline()
    log.write_text(QUIET * 2 + FAILURE)
    assert following[0].next() == (FAILURE_ID, 3)

    log.rename(tmp_path / "server.log.1")
    with (tmp_path / "server.log.1").open("a") as old:
        old.write(FAILURE)
    log.write_text(QUIET + FAILURE)
    assert following[0].next() == (FAILURE_ID, 8)
    assert following[0].next() == (FAILURE_ID, 2)

    log.write_text(FAILURE)
    assert following[0].next() == (FAILURE_ID, 1)


def test_a_line_that_is_written_in_two_goes_is_one(tmp_path, following):
    log = tmp_path / "server.log"
    half = len(FAILURE) - 30
    log.write_text(FAILURE[:half])
    following.append(Following(log))
    with pytest.raises(queue.Empty):
        following[0].records.get(timeout=3)
    with log.open("a") as file:
        file.write(FAILURE[half:])

    assert following[0].next() == (FAILURE_ID, 1)


def test_several_logs_are_followed_at_once(tmp_path, following):
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    two.write_text(QUIET)
    following.append(Following(one, two))
    one.write_text(FAILURE)
    assert following[0].records.get(timeout=60)["file"] == str(one)
    with two.open("a") as file:
        file.write(FAILURE)

    assert following[0].records.get(timeout=60)["file"] == str(two)


def test_control_c_sums_up_what_was_followed(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(FAILURE * 3)
    scanning = subprocess.Popen(
        [sys.executable, "-m", "sgl_explain", "scan", "-f", str(log)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )  # fmt: skip
    while "More: " not in scanning.stdout.readline():
        pass
    # the silence that gives out the last one
    threading.Event().wait(3)
    scanning.send_signal(signal.SIGINT)
    out, complaints = scanning.communicate(timeout=60)

    assert (scanning.returncode, complaints) == (130, "")
    assert "2 more of the same" in out


def test_piped_json_comes_line_by_line_while_the_pipe_stays_open():
    scanning = subprocess.Popen([*SCAN, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with scanning:
        scanning.stdin.write(FAILURE.rstrip("\n").encode() + b"\n")
        scanning.stdin.flush()
        first = json.loads(scanning.stdout.readline())
        scanning.stdin.close()

    assert (first["id"], first["role"]) == (FAILURE_ID, "cause")


PTY = """
import os, pty, sys
os.environ["TERM"] = "xterm"
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "sgl_explain", "scan", sys.argv[1]])))
"""


def test_a_long_file_shows_at_a_terminal_how_far_it_is_read(tmp_path):
    log = tmp_path / "long.log"
    log.write_text(QUIET * (60_000_000 // len(QUIET)) + FAILURE)
    done = subprocess.run([sys.executable, "-c", PTY, str(log)], capture_output=True, text=True, check=True)

    assert "long.log" in done.stdout
    assert "MB" in done.stdout
    assert FAILURE_ID in done.stdout
    # nothing of the gauge stays
    assert "long.log" not in done.stdout.rpartition("\x1b[2K")[2]


def test_in_a_pipe_no_gauge_is_shown(tmp_path):
    log = tmp_path / "long.log"
    log.write_text(QUIET * (60_000_000 // len(QUIET)) + FAILURE)
    done = subprocess.run([*SCAN, str(log)], capture_output=True, text=True, check=True)

    assert (ids(done.stdout), done.stderr) == ([(FAILURE_ID, 60_000_000 // len(QUIET) + 1)], "")
