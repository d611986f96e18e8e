"""Evidence: what is known of a failure, as strings only. Nothing here keeps an exception, frame or traceback."""

import linecache
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final

from sgl_explain.http_body import Origin, Reply, replies_in_text
from sgl_explain.http_client import is_of_http_client, origin_by_address, replies_of
from sgl_explain.redact import redacted

MAX_MESSAGE_CHARS: Final = 16_000
MAX_LINKS: Final = 32
MAX_LEAVES: Final = 64
MAX_FRAMES: Final = 120
MAX_LINE_CHARS: Final = 400
SGLANG_PACKAGES: Final = ("sglang", "sgl_kernel", "sglang_router", "sglang_kernel")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on a traceback: dotted module, function name without its class, stripped source line."""

    module: str
    function: str
    line: str = ""

    @property
    def in_sglang(self) -> bool:
        """Whether the code belongs to SGLang or one of its own packages."""
        return self.module.partition(".")[0] in SGLANG_PACKAGES


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception of a chain, or one message that came without its exception.

    ``types`` are class names, the exception's own first, then its bases (as far as they are known); empty for a
    message whose exception is not known, such as a log line or an HTTP error body. ``frames`` run from the
    outermost call to the raise. ``server`` is what a server's reply shows of the server that gave it.
    """

    types: tuple[str, ...]
    message: str
    frames: tuple[Frame, ...] = ()
    server: Origin = ""

    @property
    def sglang_frame(self) -> Frame | None:
        """The innermost frame inside SGLang: the raise site, or the call that led out of SGLang."""
        return next((frame for frame in reversed(self.frames) if frame.in_sglang), None)


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a failure: who is running, which release, with which command, in which phase.

    ``sglang_in_picture`` says whether anything ties the failure to SGLang; errors of third parties are
    explained only then. ``deliberate`` marks text that a person handed over to have it explained. ``facts`` are what
    the machine said (`machine.FACTS`), where the failure happened on this one.
    """

    sglang_in_picture: bool = False
    deliberate: bool = False
    release: str | None = None
    command: tuple[str, ...] = ()
    phase: str | None = None
    rank: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All links of a failure, the one that reached the user first, its causes after it."""

    raised: tuple[Raised, ...]
    context: Context = field(default_factory=Context)

    @property
    def involves_sglang(self) -> bool:
        """Whether SGLang has anything to do with this failure."""
        known = self.context.sglang_in_picture or self.context.deliberate
        return known or any(frame.in_sglang for raised in self.raised for frame in raised.frames)

    @property
    def may_involve_sglang(self) -> bool:
        """Whether it is worth asking: SGLang is involved, or a server answered as SGLang does."""
        return self.involves_sglang or any(raised.server for raised in self.raised)

    def within(self, context: Context) -> "Evidence":
        """Return the same failure in another context."""
        return replace(self, context=context)


def evidence_from(error: BaseException, context: Context | None = None) -> Evidence:
    """Return the evidence of a live exception: its chain, the leaves of groups, notes and server replies.

    Bounded: 32 links, 64 leaves of groups, 120 frames a link, 16,000 characters a message. An exception whose
    ``str()`` fails contributes an empty message.
    """
    links: list[Raised] = []
    for link in links_of(error):
        raised = _raised_from(link)
        links.append(raised)
        links.extend(map(_as_raised, replies_of(link)) if is_of_http_client(link) else replies_in(raised.message))
    return Evidence(tuple(links), context or Context())


def replies_in(message: str) -> tuple[Raised, ...]:
    """Return what a server answered, where a message quotes an HTTP error body."""
    if "{" not in message:
        return ()
    try:
        return tuple(map(_as_raised, replies_in_text(message)))
    except RecursionError:  # braces nested a thousand deep are no server's reply
        return ()


def _as_raised(reply: Reply) -> Raised:
    return Raised((), clipped(reply.message), server=reply.origin)


def clipped(text: str) -> str:
    """Return a message as evidence keeps it: at most 16,000 characters, secrets and home folders masked."""
    return redacted(text[:MAX_MESSAGE_CHARS])


def type_name(cls: type) -> str:
    """Return a class name as a traceback prints it: ``ValueError``, ``torch.OutOfMemoryError``."""
    return cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"


def links_of(error: BaseException) -> Iterator[BaseException]:
    """Walk the chain as a traceback shows it, each exception once; leaves of groups count as causes."""
    waiting, seen = [error], {id(error)}
    leaves = 0
    for _ in range(MAX_LINKS + MAX_LEAVES):
        if not waiting:
            return
        link = waiting.pop(0)
        yield link
        members = _members(link)[: MAX_LEAVES - leaves]
        leaves += len(members)
        cause = link.__cause__ if link.__cause__ is not None or link.__suppress_context__ else link.__context__
        for reached in (*members, *([] if cause is None else [cause])):
            if id(reached) not in seen:
                seen.add(id(reached))
                waiting.append(reached)


def failures_in(error: BaseException) -> tuple[BaseException, ...]:
    """Return what failed by itself: the leaves of the groups in a chain, or the exception where there is no group."""
    links = list(links_of(error))
    leaves = {id(member): member for link in links for member in _members(link) if not _members(member)}
    reached = set(map(id, links))
    return tuple(leaf for key, leaf in leaves.items() if key in reached) or (error,)


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group (PEP 654, also of its backport); duck-typed for Python 3.10."""
    members = getattr(error, "exceptions", ())
    is_group = isinstance(members, tuple) and all(isinstance(member, BaseException) for member in members)
    return members if is_group else ()


def _raised_from(error: BaseException) -> Raised:
    mro = (cls for cls in type(error).__mro__ if cls not in (object, BaseException, Exception))
    own = type_name(type(error))
    types = dict.fromkeys((own, *map(type_name, mro)))
    if is_of_http_client(error):
        # it was said by a server; the frames around it are the client's
        return Raised(tuple(types), _message_of(error), server=origin_by_address(error))
    return Raised(tuple(types), _message_of(error), _frames_of(error.__traceback__))


def _message_of(error: BaseException) -> str:
    try:
        text = str(error)
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    except Exception:  # noqa: BLE001 - a broken __str__ is the user's, and must not become ours
        return ""
    return clipped("\n".join([text, *notes]))


def _frames_of(traceback: TracebackType | None) -> tuple[Frame, ...]:
    calls: deque[TracebackType] = deque(maxlen=MAX_FRAMES)
    while traceback is not None:
        calls.append(traceback)
        traceback = traceback.tb_next
    return tuple(map(_frame_of, calls))


def _frame_of(traceback: TracebackType) -> Frame:
    code, names = traceback.tb_frame.f_code, traceback.tb_frame.f_globals
    module = names.get("__name__")
    line = linecache.getline(code.co_filename, traceback.tb_lineno, names).strip()
    return Frame(module if isinstance(module, str) else "", code.co_name, redacted(line[:MAX_LINE_CHARS]))


def sglang_is_loaded() -> bool:
    """Tell whether this process has imported SGLang; imports nothing."""
    return "sglang" in sys.modules
