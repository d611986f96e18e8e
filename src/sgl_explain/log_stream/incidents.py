"""From the lines, or the bytes, of a log to its failures: what no failure can need is passed over unread."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sgl_explain.evidence import Context
from sgl_explain.log_stream.blocks import Gap
from sgl_explain.log_stream.sieve import Sieve, Sifted
from sgl_explain.log_stream.stream import Incident, IncidentStream

_MAX_FACT_BLOCKS: Final = 64


def incidents(
    lines: Iterable[str | None],
    context: Context | None = None,
    interesting: Callable[[str], bool] | None = None,
    sieve: Sieve | None = None,
) -> Iterator[Incident]:
    """Yield the failures of a log as soon as each is complete; one that the log cuts off is yielded as it stands.

    A failure is a traceback with its chain, or a line that may tell of an error. ``interesting`` is asked about the
    text of lines that bear no mark of an error at all; without it, they are passed over. With a ``sieve``, only lines
    that it lets through are looked at. ``context`` is what the caller knows; what the log says of release, command,
    phase and rank completes it. None among the lines is no line: it says that the log has fallen silent, so that what
    is complete need not wait for the next one.
    """
    reading = _Reading(IncidentStream(context or Context(), interesting), sieve or Sieve(interesting and _anything))
    for line in lines:
        if line is None:
            yield from reading.gap(Gap.SILENCE)
        else:
            whole = line.rstrip("\r\n")
            yield from reading.read(whole.replace("\n", " ").encode("utf-8", "replace"), whole)
    yield from reading.end()


def incidents_in_blocks(
    blocks: Iterable[bytes | Gap],
    context: Context | None = None,
    interesting: Callable[[str], bool] | None = None,
    sieve: Sieve | None = None,
) -> Iterator[Incident]:
    """Yield the failures of a log given in blocks of whole lines, without the last line's end; else as `incidents`."""
    reading = _Reading(IncidentStream(context or Context(), interesting), sieve or Sieve(interesting and _anything))
    for block in blocks:
        yield from reading.gap(block) if isinstance(block, Gap) else reading.read(block)
    yield from reading.end()


def _anything(_: frozenset[str]) -> bool:
    return True


class _Reading:
    """Where a log is read: the line reached, and the facts seen lately, which are read when a failure needs them."""

    def __init__(self, stream: IncidentStream, sieve: Sieve) -> None:
        self._stream = stream
        self._sieve = sieve
        self._lines_before = 0
        self._block_by_fact: dict[bytes, tuple[int, Sifted]] = {}

    def read(self, block: bytes, line: str | None = None) -> Iterator[Incident]:
        """Read a block, or the one line that it is."""
        sifted = self._sieve.sift(block)
        if sifted.hits or not self._stream.is_idle:
            self._settle_facts()
            yield from self._read_windows(sifted, line)
        elif sifted.new and not self._stream.knows_sglang:
            self._notice(sifted, sifted.indices_of(sifted.new))
        for shape in sifted.facts:
            self._block_by_fact[shape] = (self._lines_before, sifted)
        if len(self._block_by_fact) > _MAX_FACT_BLOCKS:
            self._settle_facts()
        self._lines_before += len(sifted.shapes)

    def gap(self, gap: Gap) -> Iterator[Incident]:
        """Yield what is complete where the log falls silent, and all there is where its file ends."""
        if gap is Gap.SILENCE:
            yield from self._stream.pause()
            return
        yield from self._stream.end()
        self._settle_facts()
        self._lines_before = 0

    def end(self) -> Iterator[Incident]:
        """Yield what is left at the end of the log."""
        yield from self._stream.end()

    def _read_windows(self, sifted: Sifted, line: str | None) -> Iterator[Incident]:
        """Read from each hit on until nothing is open any more; of the lines between, the last fact of each kind."""
        telling = sifted.facts if self._stream.knows_sglang else sifted.facts | sifted.new
        passed: dict[bytes, int] = {}
        for index, shape in enumerate(sifted.shapes):
            if shape in sifted.hits or not self._stream.is_idle:
                self._notice(sifted, sorted(passed.values()))
                passed.clear()
                raw = line if line is not None else sifted.text_of(index)
                yield from self._stream.take(self._lines_before + index + 1, raw)
            elif shape in telling:
                passed[shape] = index

    def _settle_facts(self) -> None:
        """Read the last line of each kind of fact, in the order of the log."""
        last = [
            (before, sifted.last_index_of(shape), sifted) for shape, (before, sifted) in self._block_by_fact.items()
        ]
        for _, index, sifted in sorted(last, key=lambda item: item[:2]):
            self._notice(sifted, [index])
        self._block_by_fact.clear()

    def _notice(self, sifted: Sifted, indices: Iterable[int]) -> None:
        for index in indices:
            self._stream.notice(sifted.text_of(index))
