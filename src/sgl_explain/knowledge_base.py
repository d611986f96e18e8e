"""The knowledge base: entries by id, and the indexes through which a failure finds its candidates.

Lookups go through rare literal words and raise sites, so that a message is never tried against every template.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from math import log
from pathlib import Path
from typing import Final

from sgl_explain.entry import Entry, Site, compiled_entry
from sgl_explain.entry_files import read_entries
from sgl_explain.errors import UnknownEntryError
from sgl_explain.evidence import Raised
from sgl_explain.template import Template, words_in

BUNDLED: Final = "knowledge.jsonl"
_MAX_FUZZY_CANDIDATES: Final = 24
_MIN_SPELLING: Final = 75.0
_MIN_SHARED: Final = 0.45
_DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class IndexedTemplate:
    """A template with the entry it speaks for."""

    entry: Entry
    template: Template


class Knowledge:
    """A set of entries, with lookups. Adding entries (`extend`) returns a new set; nothing changes in place."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entry_by_id: Mapping[str, Entry] = {entry.id: entry for entry in entries}
        self._id_by_alias = {alias: entry.id for entry in self for alias in entry.aliases}
        self._index = _Index(self)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entry_by_id.values())

    def __len__(self) -> int:
        return len(self._entry_by_id)

    def get(self, entry_id: str) -> Entry:
        """Return an entry by its id or one of its aliases; raises UnknownEntryError with suggestions."""
        entry = self._entry_by_id.get(self._id_by_alias.get(entry_id, entry_id))
        if entry is None:
            raise UnknownEntryError(entry_id, self._similar_ids(entry_id))
        return entry

    def search(self, words: str, limit: int = 10) -> tuple[Entry, ...]:
        """Return the entries that speak of these words, the best first."""
        wanted = [word for word in re.findall(r"[\w-]+", words.lower()) if len(word) > 1]
        scored = ((_relevance(entry, wanted), entry) for entry in self)
        ranked = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], item[1].id))
        return tuple(entry for _, entry in ranked[:limit])

    def extend(self, path: str | Path) -> "Knowledge":
        """Return this knowledge plus the entries of a TOML or JSON Lines file, or of a folder of TOML files.

        An entry with an id already known takes its place. Raises KnowledgeError with every problem of the files.
        """
        return Knowledge((*self, *read_entries(Path(path))))

    def templates_for(self, message: str) -> tuple[IndexedTemplate, ...]:
        """Return the templates whose rarest words all stand in the message."""
        return self._index.exact(words_in(message))

    def templates_like(self, message: str) -> tuple[IndexedTemplate, ...]:
        """Return the templates that share the most informative words with the message, at most 24."""
        return self._index.similar(words_in(message))

    def says_the_rarest_word(self, item: IndexedTemplate, message: str) -> bool:
        """Tell whether the word that tells a template from others stands in the message, if in another spelling."""
        return self._index.has_rarest(item, words_in(message))

    def entries_at(self, raised: Raised) -> tuple[tuple[Entry, Site], ...]:
        """Return the entries, with their site, that speak for the place where this was raised."""
        return tuple(self._index.at(raised))

    def speaks_of(self, text: str) -> bool:
        """Tell, cheaply, whether any template could match this text."""
        return bool(self._index.exact(words_in(text)))

    def speaks_of_words(self, words: frozenset[str]) -> bool:
        """Tell whether any template could match a text with these words, in lower case and without their digits."""
        return self._index.has_all_of_a_template(words)

    def _similar_ids(self, entry_id: str) -> tuple[str, ...]:
        from rapidfuzz import fuzz, process  # waits: only a mistyped id needs it

        found = process.extract(entry_id, list(self._entry_by_id), scorer=fuzz.ratio, limit=3, score_cutoff=60)
        return tuple(str(item[0]) for item in found)


class _Index:
    """Inverted indexes over the templates' words and the sites' function names."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        entries = tuple(entries)
        self.templates = [IndexedTemplate(entry, Template.parse(text)) for entry in entries for text in entry.templates]
        count = Counter(word for item in self.templates for word in item.template.words)
        self.weight = {word: log(1 + len(self.templates) / seen) for word, seen in count.items()}
        self.by_anchor: dict[str, list[IndexedTemplate]] = defaultdict(list)
        self.by_word: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self.templates):
            self.by_anchor[self._rarest(item.template)].append(item)
            for word in item.template.words:
                self.by_word[word].append(number)
        self.total = [sum(self.weight[word] for word in item.template.words) for item in self.templates]
        self.bare_words_by_anchor: dict[str, list[frozenset[str]]] = defaultdict(list)
        for anchor, items in self.by_anchor.items():
            self.bare_words_by_anchor[_bare(anchor)] += [_bare_words(item.template) for item in items]
        self.sites: dict[str, list[tuple[Entry, Site]]] = defaultdict(list)
        for entry in entries:
            for site in entry.sites:
                self.sites["*" if "*" in site.function else site.function].append((entry, site))

    def _rarest(self, template: Template) -> str:
        return max(template.words, key=lambda word: (self.weight[word], len(word), word), default="")

    def exact(self, words: frozenset[str]) -> tuple[IndexedTemplate, ...]:
        anchored = (item for word in words & self.by_anchor.keys() for item in self.by_anchor[word])
        return tuple(item for item in anchored if item.template.words <= words)

    def has_all_of_a_template(self, words: frozenset[str]) -> bool:
        anchors = words & self.bare_words_by_anchor.keys()
        return any(needed <= words for anchor in anchors for needed in self.bare_words_by_anchor[anchor])

    def similar(self, words: frozenset[str]) -> tuple[IndexedTemplate, ...]:
        shared: dict[int, float] = defaultdict(float)
        for word in words & self.by_word.keys():
            weight = self.weight[word]
            for number in self.by_word[word]:
                shared[number] += weight
        close = ((weight / self.total[number], number) for number, weight in shared.items())
        best = nlargest(_MAX_FUZZY_CANDIDATES, (item for item in close if item[0] >= _MIN_SHARED))
        return tuple(self.templates[number] for _, number in best)

    def has_rarest(self, item: IndexedTemplate, words: frozenset[str]) -> bool:
        from rapidfuzz import fuzz, process  # waits: import sgl_explain must cost nothing

        rarest = self._rarest(item.template)
        return bool(rarest in words or process.extractOne(rarest, words, scorer=fuzz.ratio, score_cutoff=_MIN_SPELLING))

    def at(self, raised: Raised) -> Iterator[tuple[Entry, Site]]:
        """Sites in the innermost SGLang frame, and in the innermost frame at all (for third parties)."""
        innermost = raised.frames[-1:]
        ours = raised.sglang_frame
        for frame in dict.fromkeys((*([ours] if ours else []), *innermost)):
            for entry, site in (*self.sites.get(frame.function, ()), *self.sites.get("*", ())):
                if site.holds(frame.module, frame.function):
                    yield entry, site


def _bare(word: str) -> str:
    return _DIGITS.sub("", word)


def _bare_words(template: Template) -> frozenset[str]:
    return frozenset(word for word in map(_bare, template.words) if len(word) > 1)


def _relevance(entry: Entry, wanted: Iterable[str]) -> float:
    fields = (
        (4.0, entry.id.replace("-", " ") + " " + entry.title),
        (2.0, " ".join(entry.templates)),
        (1.0, " ".join((entry.meaning, entry.trigger, *entry.situations, *entry.upstream))),
    )
    texts = [(weight, text.lower()) for weight, text in fields]
    scores = [sum(weight for weight, text in texts if word in text) for word in wanted]
    return sum(scores) if scores and all(scores) else 0.0


@cache
def bundled_knowledge() -> Knowledge:
    """Return the knowledge that ships with the package, loaded on first use."""
    from importlib_resources import files  # waits: import sgl_explain must cost nothing

    text = (files("sgl_explain") / "data" / BUNDLED).read_text(encoding="utf-8")
    return Knowledge(compiled_entry(json.loads(line)) for line in text.splitlines())
