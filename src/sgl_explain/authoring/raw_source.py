"""The source of a release as one searchable text a module: string pieces joined, blanks folded, not parsed.

Reading a release takes seconds where the inventory takes a minute, so that thirty of them can be compared.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

from sgl_explain.authoring.source import located, number_of
from sgl_explain.entry import Entry, Site
from sgl_explain.template import Placeholder, Template

# the end of one string piece and the start of the next: "…" f"…", perhaps over lines
_JOIN: Final = re.compile(r"""(?:\\n)?["']\s*\\?\s*[fFrRbBuU]{0,2}["']""")
_BLANKS: Final = re.compile(r"\s+")
# A text this specific (letters and digits of its literals) is the same error wherever it stands.
_MOVED_WEIGHT: Final = 24
_MAX_HOLE_CHARS: Final = 240


@dataclass(frozen=True)
class RawRelease:
    """A release's number and the folded source text of each of its modules."""

    number: str
    text_by_module: Mapping[str, str]

    def modules_saying(self, entry: Entry, text: str) -> frozenset[str]:
        """Return the modules whose source has a template of an entry: the entry's own, or any if it is unmistakable."""
        template = Template.parse(text)
        pieces = [_folded(part) for part in template.parts if isinstance(part, str)]
        homes = frozenset(name for name in self._homes_of(entry) if _all_in(pieces, self.text_by_module[name]))
        if homes or template.weight < _MOVED_WEIGHT:
            return homes
        pattern = _pattern(template)
        return frozenset(
            name for name in self._having(max(pieces, key=len)) if pattern.search(self.text_by_module[name])
        )

    def has_site(self, site: Site) -> bool:
        """Tell whether a module that a site names has its function and its line."""
        line, function = _folded(site.line), f"def {site.function}("
        texts = (text for name, text in self.text_by_module.items() if fnmatchcase(name, site.module))
        return any(function in text and line in text for text in texts)

    def _homes_of(self, entry: Entry) -> Iterator[str]:
        patterns = {Site(name).module for name in entry.upstream}
        return (name for name in self.text_by_module if any(fnmatchcase(name, one) for one in patterns))

    def _having(self, piece: str) -> Iterator[str]:
        if piece in self._whole:
            yield from (name for name, text in self.text_by_module.items() if piece in text)

    @cached_property
    def _whole(self) -> str:
        return "\n".join(self.text_by_module.values())


def read_raw(name: str, cache: Path) -> RawRelease:
    """Read a release from a folder, a wheel, or PyPI by its number; raises KnowledgeError if that fails."""
    path = located(name, cache)
    return RawRelease(number_of(path), {module: _folded(text) for module, text in _files(path)})


def _files(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for file in sorted((path / "sglang").rglob("*.py")):
            yield _module(file.relative_to(path).as_posix()), file.read_text(encoding="utf-8", errors="replace")
        return
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.startswith("sglang/") and name.endswith(".py"):
                yield _module(name), wheel.read(name).decode("utf-8", errors="replace")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folded(text: str) -> str:
    """Return a text as it is compared: string pieces joined, every blank one space, quotes and backslashes out."""
    joined = _JOIN.sub("", text).replace("\\n", " ").translate(_UNQUOTED)
    return _BLANKS.sub(" ", joined.replace("{{", "{").replace("}}", "}")).strip()


_UNQUOTED: Final = {ord(char): None for char in "\\\"'`"}


def _all_in(pieces: list[str], text: str) -> bool:
    return all(piece in text for piece in pieces)


def _pattern(template: Template) -> re.Pattern[str]:
    """The template in source text: its literals in order, an expression of bounded length in each hole."""
    hole = rf"[^\n]{{0,{_MAX_HOLE_CHARS}}}?"
    return re.compile("".join(hole if isinstance(part, Placeholder) else _escaped(part) for part in template.parts))


def _escaped(literal: str) -> str:
    folded = re.escape(_folded(literal))
    return (r"\s*" if literal[:1].isspace() else "") + folded + (r"\s*" if literal[-1:].isspace() else "")
