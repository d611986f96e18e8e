"""``sgl-explain run``: start the command, stand aside until it ends, sum up, leave with its exit status."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Final

from sgl_explain.cli.run.channels import Channels, open_channels
from sgl_explain.cli.run.ending import Ending
from sgl_explain.cli.run.keyboard import Keyboard
from sgl_explain.cli.run.pump import Feed, Pump, read_some, write_all
from sgl_explain.cli.run.python_children import environment_of_children
from sgl_explain.cli.run.supervise import Supervisor, listen, tell_signals
from sgl_explain.cli.streams import complain

CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
SIGNALLED: Final = 128

_QUIET_S: Final = 0.5
_SUMMING_UP_S: Final = 30.0


def run_command(words: Sequence[str], *, as_json: bool) -> int:
    """Run a command and return its exit status; 128 + n if signal n ended it, as shells have it.

    126 if it cannot be run, 127 if it is not found. Where explaining is switched off, the command takes our place.
    """
    if _is_off():
        return _become(words)
    channels = open_channels()
    feeds = [Feed() for _ in channels.routes]
    reader = _Reader(words, channels, feeds, as_json=as_json)
    signals = listen()
    try:
        process = _start(words, channels)
    except OSError as error:
        reader.abandon()
        return _cannot_run(words[0], error)
    return _Run(process, channels, feeds, reader).until_end(signals)


def _is_off() -> bool:
    return "0" in (os.environ.get("SGL_EXPLAIN"), os.environ.get("SGLANG_EXPLAIN"))


def _become(words: Sequence[str]) -> int:
    sys.stdout.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and its successor would
    try:
        os.execvp(words[0], list(words))  # noqa: S606 - running what the user gave is the point
    except OSError as error:
        return _cannot_run(words[0], error)


def _start(words: Sequence[str], channels: Channels) -> int:
    """Start the command and return its process id; it is reaped by whoever waits for it."""
    process = subprocess.Popen(  # noqa: S603 - running what the user gave is the point
        words, stdin=channels.stdin, stdout=channels.stdout, stderr=channels.stderr, close_fds=False,
        env=environment_of_children(), start_new_session=channels.terminal is not None,
        preexec_fn=_take_terminal if channels.terminal is not None else None,  # noqa: PLW1509 - no thread runs yet
    )  # fmt: skip
    process.returncode = 0  # keeps Popen from looking after it
    channels.close_command_ends()
    return process.pid


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _cannot_run(name: str, error: OSError) -> int:
    complain(f"cannot run {name}: {error.strerror or error}")
    return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN


class _Reader:
    """The process that explains, as this one sees it."""

    def __init__(self, words: Sequence[str], channels: Channels, feeds: Sequence[Feed], *, as_json: bool) -> None:
        self.connection, its_connection = Pipe()
        self.witness, its_witness = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            channels.close()
            self.connection.close()
            os.close(self.witness)
            _read_and_explain(words, feeds, its_connection, its_witness, as_json)
        its_connection.close()
        os.close(its_witness)
        for feed in feeds:
            os.close(feed.reading)

    def abandon(self) -> None:
        """End it, whatever it is doing."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)


def _read_and_explain(
    words: Sequence[str], feeds: Sequence[Feed], connection: Connection, witness: int, as_json: bool
) -> None:
    """Be the reader; never returns."""
    try:
        tell_signals(witness)
        for feed in feeds:
            feed.close_writing()
        from sgl_explain.cli.run.reader import explain_output  # waits: the command need not

        explain_output(words, [feed.reading for feed in feeds], connection, as_json=as_json)
    except BaseException:  # noqa: BLE001 - our own failure stays ours
        if "1" in (os.environ.get("SGL_EXPLAIN_DEBUG"), os.environ.get("SGLANG_EXPLAIN_DEBUG")):
            import traceback

            traceback.print_exc()
    finally:
        os._exit(0)


class _Run:
    """A command that is running, and everything that serves it."""

    def __init__(self, process: int, channels: Channels, feeds: Sequence[Feed], reader: _Reader) -> None:
        self._process = process
        self._channels = channels
        self._reader = reader
        self._pumps = [Pump(route, feed) for route, feed in zip(channels.routes, feeds, strict=True)]
        self._keyboard = Keyboard(channels.terminal) if channels.terminal is not None else None
        self._speaker = threading.Thread(target=self._speak, daemon=True)

    def until_end(self, signals: int) -> int:
        """Pass everything on until the command has ended; return its exit status."""
        if self._keyboard:  # before anything is shown, which invites keys and is made for raw modes
            self._keyboard.start(self._process)
        for pump in self._pumps:
            pump.start()
        self._speaker.start()
        try:
            supervisor = Supervisor(self._process, self._channels, self._keyboard, signals, self._reader.witness)
            status = _exit_status(supervisor.wait())
            open_still = [pump for pump in self._pumps if not pump.finish(_QUIET_S)]
        finally:
            if self._keyboard:
                self._keyboard.give_back()
        self._sum_up(status, signals)
        if open_still:
            _leave_behind(open_still)
        return status

    def _speak(self) -> None:
        """Say what the reader has to say, on standard error or where that goes."""
        pump = self._pumps[-1]
        with contextlib.suppress(EOFError, OSError):
            while True:
                text = self._reader.connection.recv_bytes()
                line_end = self._keyboard.line_end if self._keyboard else b"\n"
                pump.say(text.replace(b"\n", line_end), line_end)

    def _sum_up(self, status: int, signals: int) -> None:
        """Let the reader have the last word, within bounds; Ctrl-C cuts it short."""
        with contextlib.suppress(OSError):
            self._reader.connection.send(Ending(status))
        until = time.monotonic() + _SUMMING_UP_S
        while self._speaker.is_alive() and time.monotonic() < until and not _was_interrupted(signals):
            self._speaker.join(0.05)
        self._reader.abandon()


def _exit_status(wait_status: int) -> int:
    code = os.waitstatus_to_exitcode(wait_status)
    return SIGNALLED - code if code < 0 else code


def _was_interrupted(signals: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        return bool({signal.SIGINT, signal.SIGTERM, signal.SIGQUIT} & set(os.read(signals, 512)))
    return False


def _leave_behind(pumps: Sequence[Pump]) -> None:
    """Leave a process that goes on passing output of processes which outlive the command, as their own would."""
    sys.stdout.flush()
    if os.fork() == 0:
        for pump in pumps:
            threading.Thread(target=_pass_rest, args=(pump,)).start()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        os._exit(0)


def _pass_rest(pump: Pump) -> None:
    while (data := read_some(pump.source)) and write_all(pump.target, data):
        pass
