"""The exceptions of one failure while they are being read, put in the order in which they are told in the end."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final

from sgl_explain.evidence import MAX_FRAMES, MAX_LEAVES, MAX_LINKS, MAX_MESSAGE_CHARS, Frame, Raised
from sgl_explain.log_stream.message import Told
from sgl_explain.log_stream.traceback_text import frame_in
from sgl_explain.redact import redacted

MAX_MESSAGE_LINES: Final = 60


# Compared by identity: two links that say the same are still two.
@dataclass(slots=True, eq=False)
class Link:
    """One exception; ``is_named`` once its exception line was there, ``has_calls`` once a ``File`` line was."""

    types: tuple[str, ...] = ()
    message: list[str] = field(default_factory=list)
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=MAX_FRAMES))
    is_named: bool = False
    has_calls: bool = False
    wants_source: bool = False

    @classmethod
    def of(cls, told: Told) -> "Link":
        """Return an exception that was told without a traceback."""
        return cls(told[0], [told[1]], is_named=True)

    @property
    def is_full(self) -> bool:
        """Whether the message has reached its bounds, 60 lines or 16,000 characters."""
        return len(self.message) >= MAX_MESSAGE_LINES or sum(map(len, self.message)) >= MAX_MESSAGE_CHARS

    def name(self, told: Told) -> None:
        """Take the exception line that ends the traceback."""
        self.types, self.message, self.is_named = told[0], [told[1]], True

    def read_call(self, text: str) -> None:
        """Take a ``File`` line."""
        frame = frame_in(text)
        self.has_calls, self.wants_source = True, frame is not None
        if frame is not None:
            self.frames.append(frame)

    def read_source(self, text: str) -> None:
        """Take the source line of the call before it."""
        self.frames[-1] = replace(self.frames[-1], line=text.strip())
        self.wants_source = False

    def add_words(self, lines: list[str]) -> None:
        """Continue the message, within its bounds."""
        self.message.extend(lines[: MAX_MESSAGE_LINES - len(self.message)])

    def raised(self) -> Raised:
        """Return what was read, masked."""
        frames = tuple(replace(frame, line=redacted(frame.line)) for frame in self.frames)
        return Raised(self.types, redacted("\n".join(self.message)[:MAX_MESSAGE_CHARS].rstrip()), frames)


class Chain:
    """Links as a log prints them: causes first, groups before their members. A parser's state, never shared."""

    def __init__(self) -> None:
        self._links: list[Link] = []
        self._members: list[Raised] = []
        self._is_around_group = False

    @property
    def has_traceback(self) -> bool:
        """Whether any of the links came with a traceback."""
        return bool(self._members) or any(link.has_calls or not link.is_named for link in self._links)

    def add(self, link: Link) -> None:
        """Add the exception that the ones before it led to, or the first one of a group's member."""
        self._links.append(link)
        del self._links[: -(MAX_LINKS + MAX_LEAVES)]

    def add_around_group(self, link: Link) -> None:
        """Add the exception to which a whole group led; it comes before the group."""
        self._is_around_group = self._is_around_group or bool(self._members)
        self.add(link)

    def add_quoted(self, link: Link, quoting: Link | None) -> None:
        """Add an exception that stands inside the message of another: a cause of that one."""
        if quoting in self._links:
            self._links.insert(self._links.index(quoting), link)
        else:
            self.add(link)

    def close_member(self) -> None:
        """Settle the group's own chain, or that of the member that was read last."""
        read = [link.raised() for link in reversed(self._links)]
        members = [*read, *self._members] if self._is_around_group else [*self._members, *read]
        self._members = members[: MAX_LINKS + MAX_LEAVES]
        self._links, self._is_around_group = [], False

    def raised(self) -> tuple[Raised, ...]:
        """Return the exceptions, the outermost first, its causes and the members of groups after it."""
        self.close_member()
        return tuple(self._members)
