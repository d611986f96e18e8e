"""What part each failure of a log plays: the cause, another one, the same again, a consequence, no failure at all."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from sgl_explain.explanation import Explanation

Role = Literal["cause", "other", "repeat", "consequence", "harmless", "unknown"]
"""``unknown`` is a failure that nothing accounts for (``id`` is None)."""

_MAX_TOLD: Final = 500
_MAX_RANKS: Final = 64
_DIGITS: Final = re.compile(r"\d+")
_SERVED: Final = ("request", "client")


@dataclass(slots=True)
class Finding:
    """A distinct failure of a log: its first explanation, how often it came, on which ranks, the first one first."""

    explanation: Explanation
    file: str = ""
    times: int = 0
    ranks: dict[str, None] = field(default_factory=dict)

    @property
    def line(self) -> int:
        """The line where it first stands; 0 where that is not known."""
        return self.explanation.line or 0

    @property
    def is_reported(self) -> bool:
        """Whether a line around it says that it brought a process down."""
        return bool(self.explanation.wrapped_by)


class Findings:
    """The distinct failures of one log, by the part they play; filled while the log is read."""

    def __init__(self, file: str = "") -> None:
        self._file = file
        self.failures: dict[object, Finding] = {}
        self.consequences: dict[object, Finding] = {}
        self.harmless: dict[object, Finding] = {}
        self.unknown: dict[object, Finding] = {}
        self.cause: Finding | None = None
        self._by_kind: dict[object, Finding] = {}

    @property
    def has_explained(self) -> bool:
        """Whether anything was explained so far."""
        return bool(self.failures or self.consequences or self.harmless)

    def add(self, explanation: Explanation) -> Role:
        """Take the next failure, and return the part it plays as far as can be told by now.

        The last one of which it was ``cause`` is the root cause: what ended a process rather than what only a request
        met, and of these the first.
        """
        group = self._group_of(explanation)
        is_failure = group is self.failures or group is self.unknown
        key = _key(explanation) if is_failure else explanation.id
        finding = group.get(key) or self._same_on_another_rank(explanation)
        if finding is None:
            finding = Finding(explanation, self._file)
            if len(group) < _MAX_TOLD:
                group[key] = finding
                self._by_kind.setdefault(_kind(explanation), finding)
        finding.times += 1
        if explanation.rank and len(finding.ranks) < _MAX_RANKS:
            finding.ranks[explanation.rank] = None
        return self._role_of(finding, group)

    def _same_on_another_rank(self, explanation: Explanation) -> Finding | None:
        """The failure that another rank had with other numbers in it, such as the memory that was free there."""
        finding = self._by_kind.get(_kind(explanation)) if explanation.rank else None
        return finding if finding and finding.ranks and explanation.rank not in finding.ranks else None

    def _group_of(self, explanation: Explanation) -> dict[object, Finding]:
        if explanation.id is None:
            return self.unknown
        if explanation.is_harmless:
            return self.harmless
        follows = explanation.is_aftermath and bool(self.failures or self.unknown)
        return self.consequences if explanation.is_wrapper or follows else self.failures

    def _role_of(self, finding: Finding, group: dict[object, Finding]) -> Role:
        if group is not self.failures:
            return "unknown" if group is self.unknown else "harmless" if group is self.harmless else "consequence"
        if finding.times > 1:
            return "repeat"
        if self.cause is not None and _precedence(self.cause) <= _precedence(finding):
            return "other"
        self.cause = finding
        return "cause"


def _precedence(finding: Finding) -> tuple[bool, bool]:
    return not finding.is_reported, finding.explanation.phase in _SERVED


def _key(explanation: Explanation) -> tuple[object, ...]:
    if explanation.id is None:
        return (explanation.exception, explanation.message)
    return (explanation.id, *sorted(explanation.captures.items()))


def _kind(explanation: Explanation) -> str:
    return _DIGITS.sub("#", repr(_key(explanation)))
