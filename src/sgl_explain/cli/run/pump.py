"""Passing a stream of output on, byte by byte as it was, with a copy for the reader that never makes it wait."""

import contextlib
import os
import select
import threading
import time
from collections import deque
from typing import Final

from sgl_explain.cli.run.channels import Route, enlarge

_CHUNK_BYTES: Final = 1 << 16
_MAX_WAITING_BYTES: Final = 32 << 20
_LINE_END_WITHIN_S: Final = 1.0


class Feed:
    """The copy of a stream that goes to the reader: never waits; what the reader is too slow for, it never sees."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()
        enlarge(self._writing)
        os.set_blocking(self._writing, False)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0

    def put(self, data: bytes) -> None:
        """Hand over bytes; the oldest that still wait make room when there are more than 32 MB of them."""
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._hand_over()
        while self._waiting_bytes > _MAX_WAITING_BYTES:
            self._waiting_bytes -= len(self._waiting.popleft())

    def close(self) -> None:
        """Hand over what waits, at the reader's pace, and end the stream."""
        with contextlib.suppress(OSError):
            os.set_blocking(self._writing, True)
            self._hand_over()
            os.close(self._writing)

    def close_writing(self) -> None:
        """Close the reader's own copy of our end, which would keep the stream open."""
        os.close(self._writing)

    def _hand_over(self) -> None:
        try:
            while self._waiting:
                head = self._waiting[0]
                written = os.write(self._writing, head)
                self._waiting_bytes -= written
                if written < len(head):
                    self._waiting[0] = head[written:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            return
        except OSError:  # the reader is gone
            self._waiting.clear()
            self._waiting_bytes = 0


class Pump(threading.Thread):
    """Moves one stream from the command to where it goes, until it ends, nobody wants it any more, or `stop`."""

    def __init__(self, route: Route, feed: Feed) -> None:
        super().__init__(daemon=True)
        self.source = route.source
        self.target = route.target
        self.has_ended = False
        self._feed = feed
        self._is_idle = True
        self._at_line_start = True
        self._writing = threading.Lock()
        self._done = threading.Event()
        self._stop_reading, self._stop_writing = os.pipe()

    def run(self) -> None:
        """Pass everything on."""
        try:
            while self._await_bytes():
                self._is_idle = False
                data = read_some(self.source)
                if not data or not self._pass_on(data):
                    self.has_ended = True
                    break
                self._feed.put(data)
                self._is_idle = True
        finally:
            self._done.set()
            self._feed.close()

    def say(self, text: bytes, line_end: bytes) -> None:
        """Write words of ours between two lines of the stream; behind a line that does not end, on a new one."""
        until = time.monotonic() + _LINE_END_WITHIN_S
        while not self._at_line_start and time.monotonic() < until and not self._done.is_set():
            time.sleep(0.02)
        with self._writing:
            write_all(self.target, text if self._at_line_start else line_end + text)
            self._at_line_start = True

    def finish(self, quiet_s: float) -> bool:
        """Wait for the end of a stream whose writer is gone; False if others keep it open and say nothing.

        Whatever was written before is passed on first, however long its reader takes.
        """
        quiet_since = time.monotonic()
        while not self._done.wait(0.02):
            if not self._is_idle or _has_bytes(self.source):
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > quiet_s:
                break
        os.write(self._stop_writing, b"x")
        self._done.wait()
        return self.has_ended

    def _await_bytes(self) -> bool:
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        poll.register(self._stop_reading, select.POLLIN)
        return any(ready == self.source for ready, _ in poll.poll())

    def _pass_on(self, data: bytes) -> bool:
        with self._writing:
            is_taken = write_all(self.target, data)
            self._at_line_start = data.endswith((b"\n", b"\r"))
        if not is_taken:
            os.close(self.source)  # so that the command meets the broken pipe which it would have met without us
        return is_taken


def read_some(source: int) -> bytes:
    """Return the next bytes; nothing at the end, which a pseudo-terminal tells by an error (EIO)."""
    try:
        return os.read(source, _CHUNK_BYTES)
    except OSError:
        return b""


def write_all(target: int, data: bytes) -> bool:
    """Write everything, also to what was set to non-blocking by others; False if nobody can take it any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            _wait_for(target, select.POLLOUT)
        except OSError:
            return False
    return True


def _has_bytes(source: int) -> bool:
    return _wait_for(source, select.POLLIN, 0)


def _wait_for(descriptor: int, event: int, timeout_s: float | None = None) -> bool:
    poll = select.poll()  # select() takes no descriptor above 1023
    poll.register(descriptor, event)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))
