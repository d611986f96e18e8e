"""SGLang release numbers (``0.4.6.post5``, ``0.5.0rc1``) and ranges of them, compared as PEP 440 orders them."""

import operator
import re
from typing import Final

_OPERATORS: Final = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_RELEASE: Final = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.?(rc|post)(\d+))?")
_CLAUSE: Final = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")

Release = tuple[tuple[int, ...], int]


def parse_release(text: str) -> Release | None:
    """Return a sortable form of a release number, or None if it is not one; a local or dev suffix is ignored."""
    found = _RELEASE.match(text.strip())
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    stage = int(found[3] or 0) if found[2] != "rc" else int(found[3]) - 1_000_000
    return tuple(numbers), stage


def is_range(text: str) -> bool:
    """Tell whether a text is a range such as ``>=0.5.16,<0.5.20``."""
    return all(_clause(part) is not None for part in text.split(","))


def in_range(release: str | None, release_range: str) -> bool | None:
    """Tell whether a release lies in a range; None when the release, or the range, cannot be read."""
    this = parse_release(release) if release else None
    clauses = [_clause(part) for part in release_range.split(",")]
    if this is None or any(clause is None for clause in clauses):
        return None
    return all(_OPERATORS[clause[0]](this, clause[1]) for clause in clauses if clause)


def _clause(text: str) -> tuple[str, Release] | None:
    found = _CLAUSE.fullmatch(text)
    release = parse_release(found[2]) if found else None
    return (found[1], release) if found and release else None
