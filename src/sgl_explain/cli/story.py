"""What a log's failures come to for a person: each once as it comes, and in the end the one that began it."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TextIO

from sgl_explain.explanation import Explanation
from sgl_explain.render.choose import print_explanation
from sgl_explain.render.plain import WIDTH, printable

_MAX_TOLD: Final = 500
_MAX_RANKS: Final = 64
_MAX_MESSAGE_CHARS: Final = 160
_SERVED: Final = ("request", "client")


@dataclass(slots=True)
class _Seen:
    """A distinct failure: its first explanation, how often it came, and on which ranks, the first one first."""

    first: Explanation
    times: int = 0
    ranks: dict[str, None] = field(default_factory=dict)

    def again(self, explanation: Explanation) -> None:
        self.times += 1
        if explanation.rank and len(self.ranks) < _MAX_RANKS:
            self.ranks[explanation.rank] = None

    @property
    def is_reported(self) -> bool:
        """Whether a line around it says that it brought a process down."""
        return bool(self.first.wrapped_by)


class Story:
    """Tells the failures of one log to a person: `add` each as it comes, then `sum_up`.

    A distinct failure is printed once. What only reports another failure (``is_wrapper``), follows from one
    (``is_aftermath``), or is harmless is counted; it is printed in the end if there is nothing else. A failure that
    nothing accounts for (``id`` is None) is remembered, so that the end can say where the real error stands.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._failures: dict[object, _Seen] = {}
        self._reports: dict[object, _Seen] = {}
        self._harmless: dict[object, _Seen] = {}
        self._unknown: dict[object, _Seen] = {}

    @property
    def has_explained(self) -> bool:
        """Whether anything was explained so far."""
        return bool(self._failures or self._reports or self._harmless)

    def add(self, explanation: Explanation) -> None:
        """Take the next failure of the log, and print it if it is a new one."""
        told = self._group_of(explanation)
        key = _key(explanation)
        if key not in told and len(told) >= _MAX_TOLD:
            return
        is_new = key not in told
        told.setdefault(key, _Seen(explanation)).again(explanation)
        if is_new and told is self._failures:
            self._tell(explanation)

    def sum_up(self) -> None:
        """Print what it comes to: the root cause and its first rank, how much followed, where to look otherwise."""
        if not self._failures:
            for seen in (*self._reports.values(), *self._harmless.values()):
                self._tell(seen.first)
        for line in self._summary():
            print("\n".join(textwrap.wrap(printable(line), WIDTH, subsequent_indent="  ", break_on_hyphens=False)),
                  file=self._out)  # fmt: skip
        self._out.flush()

    def _group_of(self, explanation: Explanation) -> dict[object, _Seen]:
        if explanation.id is None:
            return self._unknown
        if explanation.is_harmless:
            return self._harmless
        follows = explanation.is_aftermath and bool(self._failures or self._unknown)
        return self._reports if explanation.is_wrapper or follows else self._failures

    def _tell(self, explanation: Explanation) -> None:
        print_explanation(explanation, self._out)
        print(file=self._out, flush=True)

    def _summary(self) -> Iterator[str]:
        root = self._root()
        others = [seen for seen in self._failures.values() if seen is not root]
        repeated = sum(seen.times - 1 for seen in self._failures.values())
        if root and (others or repeated or self._reports):
            yield f"Root cause: {_named(root.first)}."
        if root and len(root.ranks) > 1:
            yield f"The same on {len(root.ranks)} ranks, first on {', '.join(root.ranks)}."
        if others:
            yield f"After it, or besides: {_listed(others)}."
        if repeated:
            yield f"{repeated} more of the same in this log."
        if root and self._reports:
            count = sum(seen.times for seen in self._reports.values())
            yield f"Consequences, not causes ({count}): {_listed(list(self._reports.values()))}."
        if self._failures and self._harmless:
            yield f"Usually harmless: {_listed(list(self._harmless.values()))}."
        yield from self._where_to_look()

    def _where_to_look(self) -> Iterator[str]:
        """Say which failure without an entry came first, where no explained one can be the cause."""
        candidates = [seen for seen in self._unknown.values() if self._is_cause(seen)]
        if candidates:
            first = min(candidates, key=_place).first
            message = textwrap.shorten(": ".join(filter(None, (first.exception, first.message))), _MAX_MESSAGE_CHARS)
            yield f"No entry accounts for what stands{_where(first)}: {message}"

    def _is_cause(self, unknown: _Seen) -> bool:
        return bool(self._reports or unknown.is_reported) and not any(
            _place(seen) <= _place(unknown) for seen in self._failures.values()
        )

    def _root(self) -> _Seen | None:
        """The failure that began it: one that ended a process before one that only a request met, then the first."""
        return min(self._failures.values(), key=_precedence, default=None)


def _precedence(seen: _Seen) -> tuple[bool, bool, int]:
    return not seen.is_reported, seen.first.phase in _SERVED, _place(seen)


def _place(seen: _Seen) -> int:
    return seen.first.line or 0


def _key(explanation: Explanation) -> object:
    if explanation.id is None:
        return (explanation.exception, explanation.message)
    return (explanation.id, *sorted(explanation.captures.items()))


def _named(explanation: Explanation) -> str:
    return f"{explanation.title} ({explanation.id}){_where(explanation)}"


def _where(explanation: Explanation) -> str:
    rank = f" on {explanation.rank}" if explanation.rank else ""
    return (f" in line {explanation.line}" if explanation.line else "") + rank


def _listed(told: list[_Seen]) -> str:
    by_title = {seen.first.id: seen for seen in reversed(told)}
    return "; ".join(
        f"{seen.first.title} ({f'line {seen.first.line}, ' if seen.first.line else ''}{seen.first.id})"
        for seen in reversed(by_title.values())
    )
