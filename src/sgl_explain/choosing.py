"""Values that fit a launch command: the nearest divisors or multiples of what another flag is set to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sgl_explain.command import value_of

RULE_WORDS: Final = ("divisor of", "multiple of")
_RULE: Final = re.compile(rf"({'|'.join(RULE_WORDS)}) (--[a-z0-9][a-z0-9-]*)")
_MAX_DIVIDEND: Final = 100_000  # divisors are found by trying; sizes of groups are far below


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """What a value must be to fit: ``divisor of`` or ``multiple of`` the value of another flag."""

    relation: str
    flag: str

    def fits(self, value: int, other: int) -> bool:
        """Tell whether a value fits the other flag's; both are positive."""
        return (other % value if self.relation == "divisor of" else value % other) == 0

    def nearest(self, given: int, other: int) -> Iterator[int]:
        """Yield the nearest positive values below and above the given one that fit; none if it fits itself."""
        if given < 1 or other < 1 or self.fits(given, other):
            return
        if self.relation == "multiple of":
            below = given // other * other
            yield from (value for value in (below, below + other) if value)
        elif other <= _MAX_DIVIDEND:
            divisors = [value for value in range(1, other + 1) if self.fits(value, other)]
            yield from [value for value in divisors if value < given][-1:]
            yield from [value for value in divisors if value > given][:1]


def choice_rule(text: str) -> ChoiceRule | None:
    """Read a rule such as ``divisor of --tp-size``; None if it is not one."""
    found = _RULE.fullmatch(text)
    return ChoiceRule(found[1], found[2]) if found else None


def choices_for(choose: Mapping[str, str], command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield flag and value for each nearest value that fits; nothing where the command does not give both values."""
    for flag, text in choose.items():
        rule = choice_rule(text)
        given, other = _number(command, flag), _number(command, rule.flag if rule else "")
        if rule and given is not None and other is not None:
            yield from ((flag, str(value)) for value in rule.nearest(given, other))


def _number(command: Sequence[str], flag: str) -> int | None:
    value = value_of(command, flag) if flag else None
    return int(value) if value and re.fullmatch(r"-?[0-9]{1,9}", value) else None
