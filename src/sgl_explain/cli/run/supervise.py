"""Standing between the command and whoever signals us: each signal reaches it once, and its end is noticed.

A signal may have been sent to our process alone, or to our whole process group, as a terminal and ``timeout`` do; the
command is in the group and then has it already. The reader is in the group as well and tells which signals it got.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

from sgl_explain.cli.run.channels import Channels, copy_window_size
from sgl_explain.cli.run.keyboard import Keyboard

_WITNESS_WITHIN_S: Final = 0.3
_SIGNAL_BYTES: Final = 512

FORWARDED: Final = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP,
    signal.SIGCONT,
)  # fmt: skip
_NOTICED: Final = (*FORWARDED, signal.SIGCHLD, signal.SIGWINCH)


def listen() -> int:
    """Handle signals from now on; return where their numbers can be read. Ignored ones stay ignored (``nohup``)."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _NOTICED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _do_nothing)
            signal.siginterrupt(number, False)
    return reading


def tell_signals(witness: int) -> None:
    """In the reader: write the number of each signal that reaches our process group, and survive it."""
    os.set_blocking(witness, False)
    signal.set_wakeup_fd(witness, warn_on_full_buffer=False)
    for number in FORWARDED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _do_nothing)


class Supervisor:
    """Waits for the command, and meanwhile passes signals and window sizes on."""

    def __init__(self, command: int, channels: Channels, keyboard: Keyboard | None, signals: int, witness: int) -> None:
        self._command = command
        self._channels = channels
        self._keyboard = keyboard
        self._signals = signals
        self._witness = _Witness(witness)

    def wait(self) -> int:
        """Return the wait status of the command once it has ended."""
        while True:
            for number in self._next_signals():
                if number == signal.SIGCHLD:
                    if (status := self._ended()) is not None:
                        return status
                else:
                    self._take(number)

    def _next_signals(self) -> Iterator[int]:
        _is_readable(self._signals)
        yield from os.read(self._signals, _SIGNAL_BYTES)

    def _ended(self) -> int | None:
        """Reap the command if it has ended, and as process 1 of a container whatever else was left to us."""
        if os.getpid() == 1:
            _reap_orphans(self._command)
        process, status = os.waitpid(self._command, os.WNOHANG)
        return status if process else None

    def _take(self, number: int) -> None:
        match number:
            case signal.SIGWINCH:
                for route in self._channels.pseudo_terminals():
                    copy_window_size(route.target, route.source)
            case signal.SIGTSTP:
                self._stop()
            case _:
                self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        in_group = self._witness.saw(number)
        with contextlib.suppress(ProcessLookupError):
            if self._keyboard is not None and in_group:
                os.killpg(self._command, number)
            elif not in_group:
                os.kill(self._command, number)

    def _stop(self) -> None:
        """Stop the command and ourselves, as a shell's job, until SIGCONT."""
        if self._keyboard is None:
            self._pass_on(signal.SIGTSTP)
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._command, signal.SIGSTOP)
        self._keyboard.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._keyboard.take()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._command, signal.SIGCONT)


class _Witness:
    """What the reader says about the signals that reached our process group."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._seen: list[tuple[int, float]] = []

    def saw(self, number: int) -> bool:
        """Tell whether a signal that has just come came to the whole group."""
        until = time.monotonic() + _WITNESS_WITHIN_S
        while not self._forget(number):
            left_s = until - time.monotonic()
            if left_s <= 0 or not _is_readable(self._source, left_s) or not self._read():
                return False
        return True

    def _forget(self, number: int) -> bool:
        recent = time.monotonic() - 2 * _WITNESS_WITHIN_S
        self._seen = [item for item in self._seen if item[1] > recent]
        found = next((item for item in self._seen if item[0] == number), None)
        if found is not None:
            self._seen.remove(found)
        return found is not None

    def _read(self) -> bool:
        """Take in what there is; False once the reader has ended."""
        told = os.read(self._source, _SIGNAL_BYTES)
        self._seen += [(number, time.monotonic()) for number in told]
        return bool(told)


def _is_readable(descriptor: int, timeout_s: float | None = None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))


def _reap_orphans(command: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or found.si_pid == command:
                return
            os.waitpid(found.si_pid, 0)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Let the signal be noticed by its number on the wake-up pipe alone."""
