"""Our own terminal while the command has a session of its own: keys go to it unread, and the modes come back."""

import contextlib
import os
import signal
import termios
import threading
from typing import Final

from sgl_explain.cli.run.channels import command_ends_lines
from sgl_explain.cli.run.pump import write_all

# Places in what termios.tcgetattr returns.
_INPUT, _OUTPUT, _LOCAL, _CHARACTERS = 0, 1, 3, 6
_KEYS_BYTES: Final = 4096


class Keyboard:
    """Passes keys to the command's terminal, which makes of them what the command asked it to (^C, ^D, editing)."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._command = 0
        self._modes = termios.tcgetattr(0)
        self._command_ends_lines = command_ends_lines(terminal)
        self._is_taken = False

    def start(self, command: int) -> None:
        """Pass keys on to the session that this process leads."""
        self._command = command
        self.take()
        threading.Thread(target=self._pass_keys, daemon=True).start()

    def take(self) -> None:
        """Switch our terminal to raw keys."""
        modes = termios.tcgetattr(0)
        modes[_INPUT] &= ~(
            termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP | termios.INLCR | termios.IGNCR
            | termios.ICRNL | termios.IXON
        )  # fmt: skip
        modes[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
        if self._command_ends_lines:
            modes[_OUTPUT] &= ~termios.OPOST
        modes[_CHARACTERS][termios.VMIN], modes[_CHARACTERS][termios.VTIME] = 1, 0
        self._set(modes)
        self._is_taken = True

    def give_back(self) -> None:
        """Restore the modes that our terminal had."""
        self._set(self._modes)
        self._is_taken = False

    @property
    def line_end(self) -> bytes:
        """What ends a line on our terminal as it is now."""
        return b"\r\n" if self._is_taken and self._command_ends_lines else b"\n"

    def _set(self, modes: list[object]) -> None:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(0, termios.TCSADRAIN, modes)  # type: ignore[arg-type]  # what tcgetattr returned

    def _pass_keys(self) -> None:
        with contextlib.suppress(OSError, termios.error):  # either terminal is gone
            while keys := os.read(0, _KEYS_BYTES):
                suspend = self._suspend_key()
                before, pressed, after = keys.partition(suspend) if suspend else (keys, b"", b"")
                write_all(self._terminal, before)
                if pressed:
                    os.kill(os.getpid(), signal.SIGTSTP)
                write_all(self._terminal, after)

    def _suspend_key(self) -> bytes:
        """Return the key that stops the command, where the kernel would not see to it.

        It sends no SIGTSTP to a group whose parent lives in another session, as the command's does; it does to the
        jobs of a shell. A command that reads the key itself gets it.
        """
        modes = termios.tcgetattr(self._terminal)
        key: bytes = modes[_CHARACTERS][termios.VSUSP]
        listens = modes[_LOCAL] & termios.ISIG and os.tcgetpgrp(self._terminal) == self._command
        return key if listens and key != b"\0" else b""
