"""What a log's failures come to for a person: each once as it comes, and in the end the one that began it."""

import contextlib
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final, TextIO

from sgl_explain.explanation import Explanation
from sgl_explain.findings import Finding, Findings
from sgl_explain.render.choose import print_explanation
from sgl_explain.render.plain import WIDTH, printable

_MAX_MESSAGE_CHARS: Final = 160


class Story:
    """Tells the failures of one log to a person: `add` each as it comes, then `sum_up`.

    A distinct failure is printed once. What only reports another failure (``is_wrapper``), follows from one
    (``is_aftermath``), or is harmless is counted; it is printed in the end if there is nothing else. A failure that
    nothing accounts for (``id`` is None) is remembered, so that the end can say where the real error stands.
    ``around_print`` is entered whenever something is printed.
    """

    def __init__(
        self, out: TextIO, around_print: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    ) -> None:
        self._out = out
        self._around_print = around_print
        self._findings = Findings()

    @property
    def has_explained(self) -> bool:
        """Whether anything was explained so far."""
        return self._findings.has_explained

    def add(self, explanation: Explanation) -> None:
        """Take the next failure of the log, and print it if it is a new one."""
        if self._findings.add(explanation) in ("cause", "other"):
            self._tell(explanation)

    def sum_up(self) -> None:
        """Print what it comes to: the root cause and its first rank, how much followed, where to look otherwise."""
        found = self._findings
        if not found.failures:
            for finding in (*found.consequences.values(), *found.harmless.values()):
                self._tell(finding.explanation)
        for line in _summary(found):
            wrapped = textwrap.wrap(printable(line), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            print("\n".join(wrapped), file=self._out)
        self._out.flush()

    def _tell(self, explanation: Explanation) -> None:
        with self._around_print():
            print_explanation(explanation, self._out)
            print(file=self._out, flush=True)


def _summary(found: Findings) -> Iterator[str]:
    cause, consequences = found.cause, list(found.consequences.values())
    others = [finding for finding in found.failures.values() if finding is not cause]
    repeated = sum(finding.times - 1 for finding in found.failures.values())
    if cause and (others or repeated or consequences):
        yield f"Root cause: {_named(cause.explanation)}."
    if cause and len(cause.ranks) > 1:
        yield f"The same on {len(cause.ranks)} ranks, first on {', '.join(cause.ranks)}."
    if others:
        yield f"Other failures: {_listed(others)}."
    if repeated:
        yield f"{repeated} more of the same in this log."
    if cause and consequences:
        yield f"Consequences, not causes ({sum(item.times for item in consequences)}): {_listed(consequences)}."
    if cause and found.harmless:
        yield f"Usually harmless: {_listed(list(found.harmless.values()))}."
    yield from _where_to_look(found)


def _where_to_look(found: Findings) -> Iterator[str]:
    """Say which failure without an entry came first, where no explained one can be the cause."""
    explained = [finding.line for finding in found.failures.values()]
    candidates = [
        finding
        for finding in found.unknown.values()
        if (found.consequences or finding.is_reported) and finding.line < min(explained, default=finding.line + 1)
    ]
    if candidates:
        first = min(candidates, key=lambda finding: finding.line).explanation
        told = ": ".join(filter(None, (first.exception, first.message)))
        yield f"No entry accounts for what stands{_where(first)}: {textwrap.shorten(told, _MAX_MESSAGE_CHARS)}"


def _named(explanation: Explanation) -> str:
    return f"{explanation.title} ({explanation.id}){_where(explanation)}"


def _where(explanation: Explanation) -> str:
    rank = f" on {explanation.rank}" if explanation.rank else ""
    return (f" in line {explanation.line}" if explanation.line else "") + rank


def _listed(findings: list[Finding]) -> str:
    by_id = {finding.explanation.id: finding for finding in reversed(findings)}
    return "; ".join(
        f"{page.title} ({f'line {page.line}, ' if page.line else ''}{page.id})"
        for page in (finding.explanation for finding in reversed(by_id.values()))
    )
