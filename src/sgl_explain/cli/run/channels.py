"""What the command gets as standard streams: a pseudo-terminal where ours is a terminal, a pipe where it is not."""

import contextlib
import fcntl
import os
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_STANDARD: Final = (0, 1, 2)
_PIPE_BYTES: Final = 1 << 20
# Linux only; a pipe of 64 kB does elsewhere.
_SET_PIPE_SIZE: Final = getattr(fcntl, "F_SETPIPE_SZ", None)
_OUTPUT_FLAGS: Final = 1


@dataclass(frozen=True, slots=True)
class Route:
    """One stream of output: where the command writes (``command_end``), where we read it, where it goes."""

    source: int
    command_end: int
    target: int


@dataclass(frozen=True, slots=True)
class Channels:
    """All streams of the command.

    ``routes`` has one route where standard output and error are the same file, so that their order is kept, and two
    where they are not. ``terminal`` is our side of the pseudo-terminal that the command's session has, where it has
    one of its own.
    """

    routes: tuple[Route, ...]
    terminal: int | None

    @property
    def stdin(self) -> int | None:
        """What the command reads from; None for our own standard input."""
        return None if self.terminal is None else self._ending(self.terminal)

    @property
    def stdout(self) -> int:
        """Where the command writes its output."""
        return self.routes[0].command_end

    @property
    def stderr(self) -> int:
        """Where the command writes its errors."""
        return self.routes[-1].command_end

    def pseudo_terminals(self) -> Iterator[Route]:
        """Yield the routes that are pseudo-terminals."""
        return (route for route in self.routes if os.isatty(route.target))

    def close_command_ends(self) -> None:
        """Close our copies, so that a stream ends when the last process that writes to it has closed it."""
        for route in self.routes:
            os.close(route.command_end)

    def close(self) -> None:
        """Close everything, in a process that has no part in it."""
        self.close_command_ends()
        for route in self.routes:
            os.close(route.source)

    def _ending(self, source: int) -> int:
        return next(route.command_end for route in self.routes if route.source == source)


def open_channels() -> Channels:
    """Open streams of the kind that ours are.

    The command gets a session of its own, as under ``script``, where a person types at a terminal that also shows its
    output; otherwise it stays in our process group and reads our standard input itself.
    """
    fill_gaps()
    targets = (1,) if os.path.sameopenfile(1, 2) else (1, 2)
    interactive = os.isatty(0) and any(map(os.isatty, targets)) and is_in_foreground(0)
    routes = tuple(map(_opened, targets))
    terminal = next((route.source for route in routes if os.isatty(route.target)), None) if interactive else None
    if not command_ends_lines(terminal):
        for route in routes:
            _leave_line_ends_alone(route)
    return Channels(routes, terminal)


def command_ends_lines(terminal: int | None) -> bool:
    """Tell whether the command's terminal turns line feeds into line ends, rather than ours.

    Ours does where other processes may write to it (``sgl-explain run CMD | cat``) or the command has no session.
    """
    return terminal is not None and os.isatty(1) and os.isatty(2)


def is_in_foreground(terminal: int) -> bool:
    """Tell whether our process group may change the terminal; one in the background would be stopped for it."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # a terminal, but not the one of our session
        return False


def fill_gaps() -> None:
    """Open the null device in place of closed standard streams, before anything else gets their numbers."""
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def enlarge(pipe: int) -> None:
    """Let a pipe hold a megabyte where the system allows it."""
    if _SET_PIPE_SIZE is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE_BYTES)


def copy_window_size(source: int, target: int) -> None:
    """Give one terminal the window size of another; the kernel tells the processes on it if it changed."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))


def _opened(target: int) -> Route:
    if not os.isatty(target):
        reading, writing = os.pipe()
        enlarge(writing)
        return Route(reading, writing, target)
    ours, commands = os.openpty()
    termios.tcsetattr(commands, termios.TCSANOW, termios.tcgetattr(target))
    copy_window_size(target, commands)
    return Route(ours, commands, target)


def _leave_line_ends_alone(route: Route) -> None:
    if os.isatty(route.command_end):
        modes = termios.tcgetattr(route.command_end)
        modes[_OUTPUT_FLAGS] &= ~termios.OPOST
        termios.tcsetattr(route.command_end, termios.TCSANOW, modes)
