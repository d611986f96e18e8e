"""Which of some names a person meant: the same but for dashes, underscores and case, or the nearest."""

from collections.abc import Iterable, Sequence
from typing import Final

# What people type, or a web page makes, of the two dashes before a flag.
DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2212"
_MIN_LIKENESS: Final = 0.7
_LEAD: Final = 0.04  # a runner-up this near is offered as well
_MIN_START_CHARS: Final = 2
_MAX_OFFERED: Final = 3


def folded(word: str) -> str:
    """Return a name without what does not tell names apart: leading dashes, the kind of dash, case."""
    return word.lstrip(DASHES).lower().replace("_", "-")


def same_but_for_form(word: str, names: Iterable[str]) -> str | None:
    """Return the name that differs from a word only in form, if there is one."""
    return next((name for name in names if folded(name) == folded(word)), None)


def completed(word: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that begin with a word, form apart."""
    start = folded(word)
    return tuple(name for name in names if len(start) >= _MIN_START_CHARS and folded(name).startswith(start))


def nearest(word: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names nearest to a word, the likeliest first; none if none is near, several if they are about even."""
    from rapidfuzz import process  # waits: only errors need it
    from rapidfuzz.distance import OSA

    forms = [folded(name) for name in names]
    found = process.extract(
        folded(word), forms, scorer=OSA.normalized_similarity, score_cutoff=_MIN_LIKENESS, limit=_MAX_OFFERED
    )
    return tuple(names[index] for _, likeness, index in found if likeness >= found[0][1] - _LEAD)
