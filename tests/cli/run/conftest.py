"""Shared by the tests of `run`: it is started as a user starts it, at a terminal or in a pipe."""

import contextlib
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[3] / "src"
RUN = (sys.executable, "-m", "sgl_explain", "run", "--")
LONG_S = 120


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTHON", "COV"))}
    return {**kept, "PYTHONPATH": str(SRC), "TERM": "xterm", **extra}


@pytest.fixture(scope="session", autouse=True)
def signals_as_at_a_terminal():
    """A job in the background, or under nohup, ignores some signals, and so would everything it starts."""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def running():
    """Return a function that starts a command under `run` with pipes; what is left of it in the end is ended."""
    started = []

    def start(words: Sequence[str], **options) -> "subprocess.Popen[bytes]":
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
        started.append(subprocess.Popen([*RUN, *words], start_new_session=True, **options))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def run_piped(running):
    """Return a function that runs a command under `run` with pipes, to its end."""

    def run(words: Sequence[str], given: bytes | None = None, **options) -> "subprocess.CompletedProcess[bytes]":
        process = running(words, stdin=subprocess.PIPE if given is not None else None, **options)
        out, errors = process.communicate(given, timeout=LONG_S)
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    return run


@dataclass
class Terminal:
    """A terminal with a program on it: what it shows, and a keyboard."""

    process: int
    screen: int
    shown: bytes = b""
    _looked_at: int = 0

    def type(self, keys: bytes) -> None:
        os.write(self.screen, keys)

    def wait_for(self, text: bytes) -> None:
        """Wait until a text is shown, behind the one that was waited for before."""
        until = time.monotonic() + LONG_S
        while text not in self.shown[self._looked_at :]:
            assert time.monotonic() < until, self.shown
            assert self._read(), self.shown
        self._looked_at = self.shown.index(text, self._looked_at) + len(text)

    def end(self) -> int:
        """Wait for the end of the program; return its exit code."""
        until = time.monotonic() + LONG_S
        while self._read():
            assert time.monotonic() < until, self.shown
        _, status = os.waitpid(self.process, 0)
        os.close(self.screen)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bytes:
        ready, _, _ = select.select([self.screen], [], [], LONG_S)
        try:
            data = os.read(self.screen, 4096) if ready else b""
        except OSError:  # the last program on it has ended
            data = b""
        self.shown += data
        return data


@pytest.fixture
def at_terminal():
    """Return a function that starts a command line at a terminal of its own."""
    started = []

    def start(words: Sequence[str], line: str = "", **extra: str) -> Terminal:
        """Start words under `run`, or a shell's command line in which RUN stands for it."""
        process, screen = pty.fork()
        if process == 0:
            command = ["sh", "-c", line.replace("RUN", shlex.join(RUN))] if line else [*RUN, *words]
            os.execvpe(command[0], command, environment(**extra))
        started.append(Terminal(process, screen))
        return started[-1]

    yield start
    for terminal in started:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.killpg(terminal.process, signal.SIGKILL)
            os.waitpid(terminal.process, 0)
