"""The library's two questions: what does this failure mean (`diagnose`), and what failed in this log (`scan`)."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, TypeVar

from sgl_explain.environment import current_context
from sgl_explain.evidence import Context, Evidence, Raised, clipped, evidence_from
from sgl_explain.explanation import Explanation, Nearest, explained
from sgl_explain.http_body import messages_in_body
from sgl_explain.knowledge_base import Knowledge, bundled_knowledge
from sgl_explain.log_stream import Gap, Incident, Sieve, incidents, incidents_in_blocks
from sgl_explain.matching import judge
from sgl_explain.remote_traceback import with_remote_links

_LONG_TEXT_CHARS: Final = 64_000
_SHORT_TEXT_CHARS: Final = 200
_MAX_FAILURES: Final = 200
_MAX_UNKNOWN: Final = 4096
_MAX_KNOWN: Final = 256
_FOLDED_CHARS: Final = 600
_NO_ENTRY: Final = "No entry accounts for this error"
_K = TypeVar("_K")
_V = TypeVar("_V")
_DIGITS: Final = re.compile(r"\d+")


def diagnose(failure: object, knowledge: Knowledge | None = None) -> Explanation | None:
    """Explain an exception, a message, a traceback or log as text, or a decoded HTTP error body.

    Returns None when nothing in the knowledge base accounts for it, and for anything else that is passed. Never
    raises on odd input.
    """
    known = knowledge or bundled_knowledge()
    try:
        return _diagnosed(failure, known)
    except Exception:  # noqa: BLE001 - exceptions and bodies with hostile attributes are odd input too
        return None


def _diagnosed(failure: object, known: Knowledge) -> Explanation | None:
    match failure:
        case Evidence():
            return explained(failure, known)
        case BaseException():
            context = replace(current_context(), deliberate=True)
            return explained(with_remote_links(evidence_from(failure, context)), known)
        case bytes() | bytearray():
            return diagnose_text(bytes(failure).decode("utf-8", "replace"), known)
        case str():
            return diagnose_text(failure, known)
        case dict():
            replies = tuple(Raised((), clipped(text)) for text in messages_in_body(failure))
            return explained(Evidence(replies, Context(deliberate=True)), known)
        case _:
            return None


def diagnose_text(text: str, knowledge: Knowledge) -> Explanation | None:
    """Explain a text that someone pasted: of all failures in it, the surest that is not a mere wrapper."""
    if len(text) > _LONG_TEXT_CHARS:
        return min(islice(scan(text.splitlines(), knowledge), _MAX_FAILURES), key=_surest_first, default=None)
    found = (explained(evidence, knowledge) for evidence in evidence_in_text(text))
    explanations = [explanation for explanation in found if explanation is not None]
    return min(explanations, key=_surest_first, default=None)


def nearest_to(text: str, knowledge: Knowledge) -> Explanation:
    """Return the three entries most like a text that nothing accounts for, as a ``similar`` explanation."""
    judgements = [judge(evidence, knowledge) for evidence in evidence_in_text(text)]
    alike = {verdict.entry.id: verdict for judgement in judgements for verdict in judgement.nearest}
    best = sorted(alike.values(), key=lambda verdict: -verdict.score)[:3]
    nearest = tuple(Nearest(verdict.entry.id, verdict.entry.title, round(verdict.score)) for verdict in best)
    if not nearest and len(text) <= _SHORT_TEXT_CHARS:
        nearest = tuple(Nearest(entry.id, entry.title, 0) for entry in knowledge.search(text, limit=3))
    message = clipped(text.strip())
    return Explanation(None, _NO_ENTRY, "similar", "", message, nearest=nearest)


def scan(
    lines: Iterable[str | bytes | None],
    knowledge: Knowledge | None = None,
    *,
    unexplained: bool = False,
    context: Context | None = None,
) -> Iterator[Explanation]:
    """Explain the failures in a log, as they come; ``line`` tells where each begins (1-based).

    Streams in constant memory. A failure is given out once the lines after it show that it is complete; None among
    the lines says that the log has fallen silent, and gives out what is complete by then. Failures that nothing
    accounts for yield nothing; with ``unexplained``, those with a traceback yield one explanation whose ``id`` is None.
    ``context`` is what the caller knows of the program that writes the log; what the log says completes it.
    """
    known = knowledge or bundled_knowledge()
    found = incidents(_as_text(lines), context, interesting=known.speaks_of, sieve=Sieve(known.speaks_of_words))
    return _told(found, known, unexplained=unexplained)


def scan_blocks(
    blocks: Iterable[bytes | Gap], knowledge: Knowledge | None = None, *, unexplained: bool = False
) -> Iterator[Explanation]:
    """Explain the failures in a log as `scan` does, given blocks of whole lines: the fast way through a long one.

    A block has no line end behind its last line; a gap says that the log has fallen silent, or goes on in a new file.
    """
    known = knowledge or bundled_knowledge()
    found = incidents_in_blocks(blocks, interesting=known.speaks_of, sieve=Sieve(known.speaks_of_words))
    return _told(found, known, unexplained=unexplained)


def _told(found: Iterable[Incident], known: Knowledge, *, unexplained: bool) -> Iterator[Explanation]:
    memory = _Memory(known)
    for incident in found:
        explanation = memory.explained(incident.evidence)
        if explanation is not None:
            yield replace(explanation, line=incident.line)
        if unexplained and (explanation is None or explanation.is_wrapper):
            yield from _unexplained(incident, explanation)


class _Memory:
    """What the failures of a log came to: in a storm, the same one comes from every rank, and thousands of times."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._explanations: OrderedDict[Evidence, Explanation] = OrderedDict()
        self._unknown: OrderedDict[object, None] = OrderedDict()

    def explained(self, evidence: Evidence) -> Explanation | None:
        """Return the explanation of a failure, looking only once at those that say the same."""
        rank, anywhere = evidence.context.rank, evidence.within(replace(evidence.context, rank=None))
        explanation = self._explanations.get(anywhere)
        if explanation is None:
            explanation = self._looked_up(anywhere)
        return explanation and replace(explanation, rank=rank)

    def _looked_up(self, evidence: Evidence) -> Explanation | None:
        key = _folded(evidence)
        explanation = None if key in self._unknown else explained(evidence, self._knowledge)
        if explanation is None:
            _remember(self._unknown, key, None, _MAX_UNKNOWN)
        else:
            _remember(self._explanations, evidence, explanation, _MAX_KNOWN)
        return explanation


def _unexplained(incident: Incident, report: Explanation | None) -> Iterator[Explanation]:
    """Yield the root cause of a failure as it stands, where it has a traceback but no entry, or only a report of it."""
    evidence = incident.evidence
    cause = next((raised for raised in reversed(evidence.raised) if raised.frames), None)
    if cause is not None:
        yield Explanation(
            None, _NO_ENTRY, "similar", cause.types[0] if cause.types else "", cause.message,
            wrapped_by=(report.id,) if report and report.id else (), phase=evidence.context.phase,
            rank=evidence.context.rank, release=evidence.context.release, line=incident.line,
        )  # fmt: skip


def evidence_in_text(text: str) -> Iterator[Evidence]:
    """Return what a pasted text may be: one message as it stands, then each failure found in it."""
    context = Context(deliberate=True)
    yield Evidence((Raised((), clipped(text.strip())),), context)
    for incident in incidents(text.splitlines(), context, interesting=lambda _: True):
        yield _deliberate(incident)


def _as_text(lines: Iterable[str | bytes | None]) -> Iterator[str | None]:
    for line in lines:
        if isinstance(line, str | bytes | None):
            yield line.decode("utf-8", "replace") if isinstance(line, bytes) else line


def _folded(evidence: Evidence) -> object:
    """What makes two failures of a log the same to a reader: types, places, and messages but for their numbers."""
    return tuple(
        (raised.types, raised.frames[-1:], _DIGITS.sub("#", raised.message[:_FOLDED_CHARS]))
        for raised in evidence.raised
    )


def _remember(memory: OrderedDict[_K, _V], key: _K, value: _V, limit: int) -> None:
    memory[key] = value
    if len(memory) > limit:
        memory.popitem(last=False)


def _deliberate(incident: Incident) -> Evidence:
    return incident.evidence.within(replace(incident.evidence.context, deliberate=True))


def _surest_first(explanation: Explanation) -> tuple[bool, bool, bool, bool]:
    is_bare_message = not explanation.exception
    return (explanation.is_harmless, explanation.is_wrapper, explanation.confidence != "exact", is_bare_message)
