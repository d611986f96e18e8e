"""Reading entries from files: the TOML that people write, the JSON Lines that ships."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from sgl_explain.entry import Entry, EntryFix, entry_from, fix_from
from sgl_explain.errors import KnowledgeError, TemplateError
from sgl_explain.template import Template


def read_entries(path: Path) -> tuple[Entry, ...]:
    """Read entries from a TOML file, a JSON Lines file, or all TOML files below a folder.

    ``remedies.toml`` beside the entries (or beside their ``entries`` folder) provides the shared fixes. Raises
    KnowledgeError with every problem of every file.
    """
    if not path.exists():
        raise KnowledgeError([f"{path}: no such file or folder"])
    if path.suffix == ".jsonl":
        return tuple(entries_in_lines(path.read_text(encoding="utf-8"), path.name))
    root = path if path.is_dir() else path.parent
    files = sorted(file for file in path.rglob("*.toml") if file.name not in _NOT_ENTRIES) if path.is_dir() else [path]
    return _entries_in_toml(files, root, read_remedies(root))


_NOT_ENTRIES: Final = ("remedies.toml", "retired.toml")


def read_remedies(root: Path) -> dict[str, EntryFix]:
    """Read the shared fixes that stand in, or beside, a folder of entries."""
    file = next((at for at in (root / "remedies.toml", root.parent / "remedies.toml") if at.exists()), None)
    tables = read_toml(file) if file else {}
    return {name: fix_from(name, _table(data), "remedies.toml") for name, data in tables.items()}


def entries_in_lines(text: str, source: str) -> Iterator[Entry]:
    """Read entries from JSON Lines, as `authoring.compile` writes them; raises KnowledgeError for a broken one."""
    for number, line in enumerate(text.splitlines(), start=1):
        data = json.loads(line)
        yield entry_from(data.pop("id", ""), data, f"{source}:{number}")


def _entries_in_toml(files: Iterable[Path], root: Path, remedies: Mapping[str, EntryFix]) -> tuple[Entry, ...]:
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    for file in files:
        place = file.relative_to(root).as_posix()
        for entry_id, data in read_toml(file).items():
            if entry_id in entries:
                problems.append(f"{place}: {entry_id}: the id is used twice")
            try:
                entries[entry_id] = _checked(entry_from(entry_id, _table(data), place), remedies, place)
            except KnowledgeError as error:
                problems.extend(error.problems)
    if problems:
        raise KnowledgeError(problems)
    return tuple(entries[entry_id] for entry_id in sorted(entries))


def _checked(entry: Entry, remedies: Mapping[str, EntryFix], place: str) -> Entry:
    """Put shared fixes in place, and make sure that the templates can be read."""
    problems = [
        f"{place}: {entry.id}: {_template_problem(text)}" for text in entry.templates if _template_problem(text)
    ]
    problems += [
        f"{place}: {entry.id}: no remedy is called {fix.remedy!r}; remedies.toml has {', '.join(remedies) or 'none'}"
        for fix in entry.fixes
        if fix.remedy and fix.remedy not in remedies
    ]
    if problems:
        raise KnowledgeError(problems)
    fixes = tuple(replace(remedies[fix.remedy], when=fix.when) if fix.remedy else fix for fix in entry.fixes)
    return replace(entry, fixes=fixes)


def _template_problem(text: str) -> str:
    try:
        Template.parse(text)
    except TemplateError as error:
        return str(error)
    return ""


def read_toml(file: Path) -> dict[str, object]:
    """Read a TOML file; raises KnowledgeError naming the file and the place in it."""
    if sys.version_info >= (3, 11):
        import tomllib  # waits: only authors and `extend` read TOML
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError([f"{file.name}: {error}"]) from None


def _table(data: object) -> Mapping[str, object]:
    return data if isinstance(data, Mapping) else {"": data}
