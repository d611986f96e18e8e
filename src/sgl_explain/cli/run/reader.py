"""The process that reads a copy of the command's output and explains: each failure as it passes, and all in the end."""

import io
import os
import queue
import re
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import PurePath
from typing import Final

from sgl_explain.cli.run.ending import Ending
from sgl_explain.cli.run.own_words import OwnWords
from sgl_explain.cli.story import Story
from sgl_explain.diagnosis import scan
from sgl_explain.evidence import Context
from sgl_explain.explanation import Explanation, explained, retold
from sgl_explain.knowledge_base import Knowledge, bundled_knowledge
from sgl_explain.machine import facts_since, machine_facts
from sgl_explain.redact import redacted_argv
from sgl_explain.render.record import json_line

HELD_S: Final = 2.0
"""How long an explanation is held back, in which the process that failed may give it itself."""

_SAME_FAILURE_S: Final = 10.0
_SILENCE_S: Final = 0.5
_CHUNK_BYTES: Final = 1 << 18
_MAX_LINE_BYTES: Final = 1 << 16
_LAUNCH: Final = re.compile(r"(?:sglang\.launch_server|sglang serve)(?: |$)")
_ELSEWHERE: Final = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "srun", "mpirun", "modal", "sky"})

_Found = Explanation | str | None
"""What a stream's thread tells: a failure, the id of one that was explained in the stream itself, or its end."""


def explain_output(words: Sequence[str], streams: Sequence[int], connection: Connection, *, as_json: bool) -> None:
    """Explain what comes through the streams, then the command's end, and say so through the connection."""
    # of another machine, or a container, ours says nothing
    before = None if PurePath(words[0]).name in _ELSEWHERE else machine_facts()
    knowledge = bundled_knowledge()
    context = context_of(words)
    found: queue.SimpleQueue[_Found] = queue.SimpleQueue()
    for stream in streams:
        threading.Thread(target=_read, args=(stream, found, knowledge, context), daemon=True).start()
    desk = Desk(knowledge, context, before, _LiveStory(_Voice(connection), as_json=as_json))
    open_streams = len(streams)
    while open_streams:
        try:
            item = found.get(timeout=_SILENCE_S)
        except queue.Empty:
            desk.release(time.monotonic())
            continue
        if item is None:
            open_streams -= 1
        else:
            desk.take(item, time.monotonic())
        desk.release(time.monotonic())
    ending = connection.recv()
    if isinstance(ending, Ending):
        desk.close(ending)


def context_of(words: Sequence[str]) -> Context:
    """Return what a command tells of the program whose output is read; explaining it was asked for."""
    text = " ".join(words)
    command = redacted_argv(tuple(words)) if _LAUNCH.search(text) else ()
    return Context(sglang_in_picture="sglang" in text.lower(), command=command)


class Desk:
    """Where the streams' findings come together and are told."""

    def __init__(
        self, knowledge: Knowledge, context: Context, facts_before: dict[str, str] | None, story: "_LiveStory"
    ) -> None:
        self._knowledge = knowledge
        self._context = context
        self._facts_before = facts_before
        self._story = story
        self._held: deque[tuple[float, Explanation]] = deque()
        self._told_at: dict[str, float] = {}

    def take(self, item: Explanation | str, now: float) -> None:
        """Take a failure that was found, or the id of one that the process which met it has explained itself."""
        if isinstance(item, str):
            self._told_at[item] = now
        else:
            self._held.append((now, item))

    def release(self, now: float) -> None:
        """Tell what was held back for long enough."""
        while self._held and self._held[0][0] + HELD_S <= now:
            self._tell(*self._held.popleft())

    def close(self, ending: Ending) -> None:
        """Tell the rest, how the command ended, and what it comes to."""
        while self._held:
            self._tell(*self._held.popleft())
        death = explained(ending.evidence(self._context_now()), self._knowledge) if ending.is_silent_death else None
        self._story.end(ending, death)

    def _tell(self, found_at: float, explanation: Explanation) -> None:
        told_at = self._told_at.get(explanation.id or "")
        self._story.is_told = told_at is not None and told_at > found_at - _SAME_FAILURE_S
        # Lines of a stream that scrolls by are in nobody's file; the command is known better than from the log.
        self._story.add(replace(retold(explanation, self._knowledge, self._context_now()), line=None))
        self._story.is_told = False

    def _context_now(self) -> Context:
        facts = {} if self._facts_before is None else facts_since(self._facts_before)
        return replace(self._context, facts=facts)


class _LiveStory(Story):
    """A story told while it happens, to someone who sees the output itself."""

    def __init__(self, out: io.TextIOBase, *, as_json: bool) -> None:
        super().__init__(out)  # type: ignore[arg-type]  # it only writes
        self._as_json = as_json
        self.is_told = False

    def end(self, ending: Ending, death: Explanation | None) -> None:
        """Say how the command ended and sum up, if there is anything to say."""
        knew = self.has_explained
        # with reports alone, they say what ended the command: a child failed, and it followed
        if death is not None and (self._findings.failures or not self._findings.consequences):
            self.add(death)
        if self._as_json or not self.has_explained:
            return
        if knew:
            print(f"sgl-explain: {ending.told()}", file=self._out)
        self.sum_up()

    def _tell(self, explanation: Explanation) -> None:
        if self._as_json:
            print(json_line(explanation), file=self._out, flush=True)
        elif not self.is_told:
            super()._tell(explanation)


class _Voice(io.TextIOBase):
    """A text stream that stands for standard error, and speaks through the process that passes the output on."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._text = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here
        return getattr(sys.stderr, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return os.isatty(2)

    def fileno(self) -> int:
        return 2

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._text += text
        return len(text)

    def flush(self) -> None:
        if self._text:
            self._connection.send_bytes(self._text.encode(self.encoding, "backslashreplace"))
            self._text = ""


def _read(stream: int, found: "queue.SimpleQueue[_Found]", knowledge: Knowledge, context: Context) -> None:
    own_words = OwnWords(found.put)
    try:
        lines = own_words.taken_out(_lines_of(stream))
        for explanation in scan(lines, knowledge, unexplained=True, context=context):
            found.put(explanation)
    finally:
        found.put(None)


def _lines_of(stream: int) -> Iterator[str | None]:
    """Yield lines; None when nothing has come for a while."""
    rest = b""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    is_quiet = False
    while True:
        if not poll.poll(_SILENCE_S * 1000):
            if not is_quiet:
                yield None
            is_quiet = True
            continue
        is_quiet = False
        data = os.read(stream, _CHUNK_BYTES)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
        if len(rest) > _MAX_LINE_BYTES:  # a progress bar ends no line; only what it shows last matters
            rest = rest[-_MAX_LINE_BYTES:]
    if rest:
        yield rest.decode("utf-8", "replace")
