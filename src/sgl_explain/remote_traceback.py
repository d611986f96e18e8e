"""Exceptions of other processes that arrive as text inside one of this process.

Pools hang the worker's traceback on the exception as a cause whose message is that text
(``concurrent.futures.process._RemoteTraceback``, ``multiprocessing.pool.RemoteTraceback``); ``torch.multiprocessing``
makes it the message of its ``ProcessRaisedException``.
"""

from collections.abc import Iterator
from dataclasses import replace

from sgl_explain.evidence import MAX_LINKS, Evidence, Raised
from sgl_explain.log_stream import incidents

_HEADER = "Traceback (most recent call last):"


def with_remote_links(evidence: Evidence) -> Evidence:
    """Return the evidence with what the tracebacks quoted in its messages tell, behind the link that quotes them."""
    if not any(_HEADER in raised.message for raised in evidence.raised):
        return evidence
    links = [link for raised in evidence.raised for link in (raised, *_quoted_in(raised.message))]
    return replace(evidence, raised=tuple(links[: 2 * MAX_LINKS]))


def _quoted_in(message: str) -> Iterator[Raised]:
    if _HEADER in message:
        for incident in incidents(message.splitlines()):
            yield from (raised for raised in incident.evidence.raised if raised.frames)
