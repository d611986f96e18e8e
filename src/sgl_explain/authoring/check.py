"""The knowledge check: every problem of every entry at once, each with its file and id.

One entry's own rules stand in `rules`; here is what takes the whole knowledge base, its files, or SGLang's source.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sgl_explain.authoring.fix_flags import flags_of_fixes
from sgl_explain.authoring.rules import RULES, texts
from sgl_explain.diagnosis import diagnose_text
from sgl_explain.entry import Entry, EntryTest
from sgl_explain.entry_files import read_entries
from sgl_explain.errors import KnowledgeError
from sgl_explain.evidence import Context, Evidence, Raised
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.matching import Verdict, judge
from sgl_explain.redact import redacted

_MAX_SHARED: Final = 2
_MIN_SHARED_CHARS: Final = 30


@dataclass(frozen=True, slots=True)
class Shelf:
    """The entries of a folder, and where each stands: file by id, ids by file in written order."""

    root: Path
    knowledge: Knowledge
    file_by_id: Mapping[str, str]
    ids_by_file: Mapping[str, Sequence[str]]


def read_shelf(root: Path) -> Shelf:
    """Read a folder of entry files; raises KnowledgeError with every problem of reading."""
    entries = read_entries(root)
    ids_by_file = {file.relative_to(root).as_posix(): _ids_in(file) for file in sorted(root.rglob("*.toml"))}
    file_by_id = {entry_id: file for file, ids in ids_by_file.items() for entry_id in ids}
    return Shelf(root, Knowledge(entries), file_by_id, ids_by_file)


def problems_in(root: Path, extra: Iterable[Callable[[Shelf], Iterator[tuple[str, str]]]] = ()) -> list[str]:
    """Return every problem of the entries below a folder, as ``file: id: problem``; empty when all is well.

    ``extra`` are further rules over the whole shelf, such as the comparison with a release's source.
    """
    try:
        shelf = read_shelf(root)
    except KnowledgeError as error:
        return list(error.problems)
    found = [(entry.id, problem) for entry in shelf.knowledge for rule in RULES for problem in rule(entry)]
    for shelf_rule in (*SHELF_RULES, *extra):
        found.extend(shelf_rule(shelf))
    return sorted(f"{shelf.file_by_id.get(entry_id, entry_id)}: {entry_id}: {problem}" for entry_id, problem in found)


def placement(shelf: Shelf) -> Iterator[tuple[str, str]]:
    """A file mirrors the upstream module of its entries, which stand sorted by id."""
    for entry in shelf.knowledge:
        expected = file_for(entry.upstream[0]) if entry.upstream else ""
        if expected and shelf.file_by_id[entry.id] != expected:
            yield entry.id, f"stands in the wrong file; its first upstream belongs in {expected}"
    for ids in shelf.ids_by_file.values():
        for entry_id, ordered in zip(ids, sorted(ids), strict=True):
            if entry_id != ordered:
                yield entry_id, f"entries are sorted by id; {ordered} comes here"
                break


def file_for(upstream: str) -> str:
    """Return the entry file in which an upstream symbol belongs, relative to the entries folder."""
    module = upstream.partition(":")[0].replace(".*", "")
    package, _, rest = module.partition(".")
    match package:
        case "sglang":
            return f"{rest.replace('.', '/') or 'sglang'}.toml"
        case "sglang_router":
            return f"router/{rest.replace('.', '/') or 'router'}.toml"
        case _:
            return f"third_party/{package.lower()}.toml"


def references(shelf: Shelf) -> Iterator[tuple[str, str]]:
    """Related ids exist; aliases belong to one entry and are no entry's id."""
    ids = {entry.id for entry in shelf.knowledge}
    aliases = Counter(alias for entry in shelf.knowledge for alias in entry.aliases)
    for entry in shelf.knowledge:
        for related in entry.related:
            if related not in ids or related == entry.id:
                yield entry.id, f"related: no other entry is called {related!r}"
        for alias in entry.aliases:
            if alias in ids or aliases[alias] > 1:
                yield entry.id, f"aliases: {alias!r} is taken"


def tests_find_their_entry(shelf: Shelf) -> Iterator[tuple[str, str]]:
    """Every test finds its own entry first, with the stated captures, and nothing unrelated comes close.

    It finds it exactly, but for a text without frames whose words others may say.
    """
    for entry in shelf.knowledge:
        for number, test in enumerate(entry.tests, start=1):
            for problem in _test_problems(entry, test, shelf.knowledge):
                yield entry.id, f"test {number}: {problem}"


def _test_problems(entry: Entry, test: EntryTest, knowledge: Knowledge) -> Iterator[str]:
    if test.traceback:
        explanation = diagnose_text(test.traceback, knowledge)
        if explanation is None or explanation.id != entry.id:
            yield f"its traceback finds {explanation.id if explanation else 'nothing'}"
            return
        yield from _capture_problems(test, explanation.captures)
    elif test.message:
        verdict = _verdict_for(entry, test, knowledge)
        if verdict is None or verdict.entry.id != entry.id:
            yield f"finds {verdict.entry.id if verdict else 'nothing'}"
        elif verdict.confidence != "exact" and not entry.shares_words(test.message):
            yield f"finds its entry, but only as {verdict.confidence}"
        else:
            yield from _capture_problems(test, verdict.captures)


def _verdict_for(entry: Entry, test: EntryTest, knowledge: Knowledge) -> Verdict | None:
    types = tuple(name for name in (test.type or next(iter(entry.raises), ""),) if name)
    raised = Raised(types, redacted(test.message))
    return judge(Evidence((raised,), Context(deliberate=True)), knowledge).verdict


def _capture_problems(test: EntryTest, captures: Mapping[str, str]) -> Iterator[str]:
    for name, wanted in test.captures.items():
        if captures.get(name) != wanted:
            yield f"captures {name} = {captures.get(name)!r}, not {wanted!r}"


def shared_texts(shelf: Shelf) -> Iterator[tuple[str, str]]:
    """No text stands in three entries; such a one is a remedy."""
    holders: dict[str, set[str]] = defaultdict(set)
    for entry in shelf.knowledge:
        for _, text in texts(entry, with_code=False):
            if len(text) >= _MIN_SHARED_CHARS:
                holders[" ".join(text.split())].add(entry.id)
    for text, ids in holders.items():
        if len(ids) > _MAX_SHARED and not _is_remedy(text, shelf):
            yield min(ids), f"shares a text with {', '.join(sorted(ids)[1:])}: {text[:60]!r}; make it a remedy"


def _is_remedy(text: str, shelf: Shelf) -> bool:
    from sgl_explain.entry_files import read_remedies

    return any(" ".join(fix.do.split()) == text for fix in read_remedies(shelf.root).values())


SHELF_RULES: Final = (placement, references, tests_find_their_entry, shared_texts, flags_of_fixes)


def _ids_in(file: Path) -> tuple[str, ...]:
    from sgl_explain.entry_files import read_toml

    return tuple(read_toml(file))
