"""``python -m sgl_explain.authoring versions``: the releases each entry covers, from the sources of all of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sgl_explain.authoring.check import Shelf
from sgl_explain.authoring.raw_source import RawRelease
from sgl_explain.authoring.standing import is_own, is_there, range_over
from sgl_explain.release import in_range

_VERSIONS: Final = re.compile(r'(?m)^(versions\s*=\s*)"[^"]*"')


@dataclass(frozen=True, slots=True)
class Found:
    """What the sources say of an entry: the range written in it, and the releases in which its error stands."""

    entry_id: str
    written: str
    is_there_by_release: Mapping[str, bool]

    @property
    def range(self) -> str | None:
        """The range the sources give; None if the error stands in none of them."""
        return range_over(self.is_there_by_release)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The releases for which the written range says otherwise than the sources."""
        return tuple(
            number for number in self.is_there_by_release if in_range(number, self.written) != self._stands_in(number)
        )

    def _stands_in(self, number: str) -> bool:
        return self.range is not None and in_range(number, self.range) is True


def found_in(shelf: Shelf, releases: Iterable[RawRelease]) -> tuple[Found, ...]:
    """Return what the sources of some releases say of each entry about SGLang's own errors."""
    by_entry: dict[str, dict[str, bool]] = {}
    for release in releases:
        for entry in filter(is_own, shelf.knowledge):
            by_entry.setdefault(entry.id, {})[release.number] = is_there(entry, release)
    return tuple(Found(entry_id, shelf.knowledge.get(entry_id).versions, there) for entry_id, there in by_entry.items())


def as_lines(found: Iterable[Found]) -> Iterator[str]:
    """Yield a line for each entry whose written range is not what the sources say."""
    for item in found:
        if item.wrong:
            yield f"{item.entry_id}: {item.written}, by the sources {item.range or 'in none'}"


def write(shelf: Shelf, found: Iterable[Found]) -> int:
    """Put the ranges of the sources into the entry files; return how many changed. One that stands in none is kept."""
    changed = 0
    for item in found:
        if item.wrong and item.range:
            file = shelf.root / shelf.file_by_id[item.entry_id]
            file.write_text(_with_range(file.read_text(encoding="utf-8"), item), encoding="utf-8")
            changed += 1
    return changed


def _with_range(text: str, item: Found) -> str:
    head = re.search(rf"(?m)^\[{re.escape(item.entry_id)}\]\s*$", text)
    start = head.end() if head else len(text)
    return text[:start] + _VERSIONS.sub(rf'\g<1>"{item.range}"', text[start:], count=1)
