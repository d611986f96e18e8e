"""What became of a flag: the release in which it came or went, and what another release calls it.

The facts are named as entries use them: ``new_in``; ``removed_in`` and ``last``; where no release is at hand ``first``,
``last`` and ``gone_in``; ``renamed`` for what can be written in its place, ``replacement`` for what must be looked up.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

from sgl_explain.flags import Flag, is_before, known_flags, known_releases, release_after

Facts = Mapping[str, str]


def span_of(flag: Flag, item: str) -> Facts:
    """Return the first and the last release with a spelling or a choice; nothing where all releases have it."""
    first, last = flag.first_with(item), flag.last_with(item)
    return {} if (first, last) == (known_releases()[0], known_releases()[-1]) else {"first": first, "last": last}


def came_or_went(flag: Flag, item: str, release: str) -> Facts:
    """Return since when, or until when, other releases than this one have a spelling or a choice."""
    first, last = flag.first_with(item), flag.last_with(item)
    if is_before(release, first):
        return {"new_in": first}
    return {"removed_in": release_after(last) or "", "last": last} if is_before(last, release) else {}


def history_of(flag: Flag, name: str, values: Sequence[str], release: str | None) -> Facts:
    """Return what became of a spelling that a release rejects, which was given with some values."""
    if release is None:
        last = flag.last_with(name)
        return {**span_of(flag, name), "gone_in": release_after(last) or "", **_instead(flag, name, values, None)}
    told = came_or_went(flag, name, release)
    if "removed_in" in told:
        return {**told, **_instead(flag, name, values, release)}
    if "new_in" in told:
        return {**told, "renamed": _older_name(flag, name, release)}
    return {"renamed": next((other for other in flag.spellings_in(release) if other != name), "")}


def _instead(flag: Flag, name: str, values: Sequence[str], release: str | None) -> Facts:
    """``renamed`` if the words can be exchanged, else ``replacement``; of the newest release where none is at hand."""
    at = release or known_releases()[-1]
    words = _successors(flag, name, at)
    can_exchange = words and all(_fits(word, flag, values, at) for word in words)
    return {"renamed" if can_exchange else "replacement": " ".join(words)}


def _successors(flag: Flag, name: str, release: str) -> tuple[str, ...]:
    """The words that replace a flag in a release, followed through flags that were replaced in their turn."""
    if flag.name != name and flag.has(flag.name, release):
        return (flag.name,)
    found: list[str] = []
    for word in flag.replacement:
        spelling, _, value = word.partition("=")
        successor = known_flags()[spelling]
        later = (word,) if successor.has(spelling, release) else _successors(successor, spelling, release)
        if not later or (value and later != (word,)):
            return ()
        found.extend(later)
    return tuple(found)


def _fits(word: str, old: Flag, values: Sequence[str], release: str) -> bool:
    """Whether a flag and what followed it can be exchanged for a word."""
    spelling, _, value = word.partition("=")
    new = known_flags()[spelling]
    given = [value] if value else values
    accepted = new.choices_in(release)
    takes_the_same = bool(value) or new.takes_in(release) == old.takes_in(old.last)
    return takes_the_same and (not accepted or all(value in accepted for value in given))


def _older_name(flag: Flag, name: str, release: str) -> str:
    """What a release calls a flag that got its name later."""
    older = (old for old in known_flags().values() if old.replacement == (name,))
    predecessors = (old.name for old in older if old.takes_in(release) == flag.takes and old.has(old.name, release))
    return next(chain(flag.spellings_in(release), predecessors), "")
