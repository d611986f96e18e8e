"""A signal reaches the command once, whether it was sent to us or to all of our process group."""

import os
import signal
import subprocess
import sys

import pytest

PY = sys.executable
COUNT = """
import os, signal, sys, time
seen = []
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    signal.signal(getattr(signal, name), lambda number, _: seen.append(number))
print("ready", flush=True)
while not seen: time.sleep(0.05)
time.sleep(1.5)
print(*seen, flush=True)
"""
FORWARDED = [
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
]  # fmt: skip


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to us", "to the group"])
@pytest.mark.parametrize("number", FORWARDED)
def test_a_signal_reaches_the_command_once(running, send, number):
    process = running([PY, "-c", COUNT])
    assert process.stdout.readline() == b"ready\n"
    send(process.pid, number)

    assert process.communicate(timeout=120)[0].split() == [str(int(number)).encode()]


def test_a_signal_that_ends_the_command_ends_us_with_the_status_of_a_shell(running):
    process = running(["sh", "-c", "echo ready; exec sleep 100"])
    assert process.stdout.readline() == b"ready\n"
    process.terminate()

    assert process.wait(timeout=120) == 128 + 15


def test_a_request_to_end_is_not_explained(running):
    process = running(["sh", "-c", "echo ready; exec sleep 100"])
    assert process.stdout.readline() == b"ready\n"
    process.terminate()

    assert process.communicate(timeout=120)[1] == b""


def test_what_was_ignored_stays_ignored(running):
    process = running(
        ["sh", "-c", "echo ready; read line; echo alive"], stdin=-1,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    assert process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGHUP)

    assert process.communicate(b"\n", timeout=120)[0] == b"alive\n"


def test_a_reader_that_dies_is_not_missed(running):
    process = running([PY, "-c", COUNT])
    assert process.stdout.readline() == b"ready\n"
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True).stdout
    os.kill(min(map(int, children.split())), signal.SIGKILL)
    process.send_signal(signal.SIGTERM)

    assert process.communicate(timeout=120)[0] == b"15\n"
    assert process.returncode == 0


def test_no_process_is_left_behind(running):
    process = running(["sh", "-c", "true"])
    process.communicate(timeout=120)

    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
