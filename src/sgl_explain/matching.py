"""Matching: which entry, if any, accounts for a failure, and how sure that is.

A template that matches is first; `rapidfuzz.fuzz.ratio` on the literals is the fallback for wording that drifted
between releases; a raise site is evidence as strong as the text, and the only one for asserts without a message.
Where two unrelated entries fit about equally well, none is chosen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Literal

from sgl_explain.entry import Entry, Site
from sgl_explain.evidence import Evidence, Raised
from sgl_explain.knowledge_base import IndexedTemplate, Knowledge
from sgl_explain.template import Template, words_in

Confidence = Literal["exact", "probable", "similar"]

# A template this specific (letters and digits of its literals, words) speaks for itself, whatever surrounds it.
_STRONG_WEIGHT: Final = 16
_STRONG_WORDS: Final = 3
# An exception of another type may carry the same text only if the text is long.
_FOREIGN_TYPE_WEIGHT: Final = 40
# A text raised in another place than its entry names may be another error, unless it is this long: code moves. One of
# an entry that names many places at once (``sglang.srt.models.*``) is plain wording, and may be anybody's without them.
_MOVED_WEIGHT: Final = 32
# One that only the user's own code had a part in, this short, is the user's own: import vllm, a["lm_head.weight"].
_STRANGER_WEIGHT: Final = 20
# A server's reply outside any SGLang process is believed if its text is unmistakable; where others answer with the
# same text, or it is shorter, its form must speak for SGLang too, and the explanation is only probable.
_REPLY_WEIGHT: Final = 18
_SHORT_REPLY_WEIGHT: Final = 9

# Of fuzz.ratio, 0 to 100: shown as probable, mentioned as similar, and the lead over the runner-up that it takes.
_PROBABLE_RATIO: Final = 86.0
_SIMILAR_RATIO: Final = 62.0
_MARGIN: Final = 6.0
_MIN_FUZZY_WORDS: Final = 5
_FUZZY_CHARS: Final = 600
_LINE_RATIO: Final = 80.0
_HELPER_FRAMES: Final = 3
_SAME: Final = 100.0


class _Fit(IntEnum):
    """How the exception's type fits the entry."""

    NO = 0
    UNKNOWN = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """An entry that accounts for one link of a failure.

    ``score`` orders verdicts of the same confidence; ``margin`` is its lead over the best unrelated entry, in the
    same unit, infinite when there is none.
    """

    entry: Entry
    raised: Raised
    depth: int
    confidence: Confidence
    score: float
    captures: Mapping[str, str]
    reasons: tuple[str, ...]
    margin: float = float("inf")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict for a failure, if there is one, and the nearest entries where there is none or only a likeness."""

    verdict: Verdict | None
    nearest: tuple[Verdict, ...] = ()
    wrapped_by: tuple[Verdict, ...] = ()


def judge(evidence: Evidence, knowledge: Knowledge) -> Judgement:
    """Return the verdict that accounts best for a failure.

    Every link is judged; a link that only reports another failure (`Entry.wrapper`) yields to any that does not,
    and among equally sure ones the root cause wins. The verdict is ``similar``, or None, where nothing is sure.
    """
    best = (_best_for_link(link, depth, evidence, knowledge) for depth, link in enumerate(evidence.raised))
    found = [verdict for verdict in best if verdict is not None]
    verdicts = [*found, *(inner for outer in found for inner in _wrapped_verdicts(outer, evidence, knowledge))]
    sure = [verdict for verdict in verdicts if verdict.confidence != "similar"]
    if not sure:
        nearest = tuple(sorted(_nearest(evidence, knowledge), key=lambda verdict: -verdict.score)[:3])
        return Judgement(nearest[0] if nearest else None, nearest)
    chosen = max(sure, key=_precedence)
    wrappers = tuple(verdict for verdict in sure if verdict.entry.wrapper and verdict.entry is not chosen.entry)
    return Judgement(chosen, (), wrappers)


def _precedence(verdict: Verdict) -> tuple[bool, bool, bool, int, float]:
    return (
        not verdict.entry.harmless,
        not verdict.entry.wrapper,
        verdict.confidence == "exact",
        verdict.depth,
        verdict.score,
    )


def _best_for_link(link: Raised, depth: int, evidence: Evidence, knowledge: Knowledge) -> Verdict | None:
    believed = (_as_believed(verdict, evidence) for verdict in _judged(link, depth, knowledge))
    fits = [verdict for verdict in believed if verdict is not None]
    harmless = [verdict for verdict in fits if verdict.entry.harmless]
    speaking = harmless or [verdict for verdict in fits if not verdict.entry.wrapper] or fits
    ranked = sorted(speaking, key=lambda verdict: (verdict.confidence == "exact", verdict.score), reverse=True)
    return _with_margin(ranked) if ranked else None


def _wrapped_verdicts(outer: Verdict, evidence: Evidence, knowledge: Knowledge) -> Iterator[Verdict]:
    """What a wrapper's own text says of the error inside: its captured values, of unknown type."""
    for text in outer.captures.values() if outer.entry.wrapper else ():
        inner = _best_for_link(Raised((), text), outer.depth + 1, evidence, knowledge)
        if inner is not None and not inner.entry.wrapper:
            yield inner


def _with_margin(ranked: list[Verdict]) -> Verdict | None:
    """Return the first, unless another entry fits about as well and the two are not told apart."""
    best = _with_values(ranked)
    rivals = [other for other in ranked[1:] if other.entry.id != best.entry.id]
    rival = next((other for other in rivals if not _are_related(best.entry, other.entry)), None)
    if rival is None:
        return best
    if rival.confidence == best.confidence and best.score - rival.score < 1:
        return None
    return replace(best, margin=best.score - rival.score)


def _with_values(ranked: list[Verdict]) -> Verdict:
    """The first; where its place was decisive and its text is a template too, with the values of the text."""
    best = ranked[0]
    told = next((other for other in ranked[1:] if other.entry is best.entry and other.captures), best)
    return replace(best, captures={**told.captures, **best.captures}) if best.captures.keys() == {"message"} else best


def _are_related(one: Entry, other: Entry) -> bool:
    return other.id in one.related or one.id in other.related


def _as_believed(verdict: Verdict, evidence: Evidence) -> Verdict | None:
    """Errors outside SGLang are left alone; a server's reply is believed as far as text and form show whose it is."""
    server = verdict.raised.server
    if evidence.involves_sglang or server == "sglang":
        return verdict
    if verdict.entry.is_third_party or (verdict.raised.types and not server):
        return None
    if not verdict.entry.shared_with and verdict.confidence == "exact" and verdict.score >= _REPLY_WEIGHT:
        return verdict
    is_likely = server == "perhaps sglang" and verdict.score >= _SHORT_REPLY_WEIGHT
    return replace(verdict, confidence="probable") if is_likely else None


def _judged(link: Raised, depth: int, knowledge: Knowledge) -> list[Verdict]:
    by_text = (_by_template(item, link, depth) for item in knowledge.templates_for(link.message))
    by_site = (_by_site(entry, site, link, depth) for entry, site in knowledge.entries_at(link))
    found = [verdict for verdict in (*by_text, *by_site) if verdict is not None]
    return found or list(_by_likeness(link, depth, knowledge))


def _by_template(item: IndexedTemplate, link: Raised, depth: int) -> Verdict | None:
    found = item.template.match(link.message)
    if found is None:
        return None
    fit, template = _type_fit(item.entry, link), item.template
    at_home = _is_raised_by(item.entry, link)
    is_whole = _stands_alone(link.message, found.start, found.end)
    is_strong = template.weight >= _STRONG_WEIGHT and len(template.words) >= _STRONG_WORDS
    if fit is _Fit.NO and template.weight < _FOREIGN_TYPE_WEIGHT:
        return None
    if _is_raised_by_others(item.entry, link) and template.weight < _STRANGER_WEIGHT:
        return None
    if not (is_strong or is_whole or at_home) or (not at_home and _is_raised_by_a_library(item.entry, link)):
        return None
    if item.entry.is_widespread and not at_home and template.weight < _STRONG_WEIGHT:
        return None
    is_ours = link.sglang_frame is not None and not item.entry.is_third_party
    is_elsewhere = (is_ours or item.entry.is_widespread) and not at_home and template.weight < _MOVED_WEIGHT
    is_anybodys = template.is_plain and not item.entry.is_third_party and link.server != "sglang"
    is_believed = fit is _Fit.YES and not is_anybodys
    is_telling = is_strong or at_home or (is_whole and (is_believed or len(template.words) >= _STRONG_WORDS))
    is_exact = is_telling and fit is not _Fit.NO and not is_elsewhere
    reasons = ("its text is this template", *(["it was raised there"] if at_home else []))
    score = template.weight + 30 * at_home + 5 * is_whole + fit
    return Verdict(item.entry, link, depth, "exact" if is_exact else "probable", score, found.values, reasons)


def _stands_alone(message: str, start: int, end: int) -> bool:
    """Whether a span is a whole line of the message, but for what names its source: ``launch.py: error: ``."""
    before, after = message[:start].rpartition("\n")[2].rstrip(" "), message[end:].partition("\n")[0]
    return (not before or before.endswith(":")) and not after.strip(" .")


def _by_site(entry: Entry, site: Site, link: Raised, depth: int) -> Verdict | None:
    if _type_fit(entry, link) is not _Fit.YES:
        return None
    likeness = _line_likeness(site.line, link) if site.line else _SAME
    if likeness < _LINE_RATIO:
        return None
    confidence: Confidence = "exact" if likeness == _SAME else "probable"
    score = 20 + (60 if site.line else 0) + likeness / 100
    captures = {"message": link.message.partition("\n")[0]}
    reasons = (f"it was raised in {site.upstream}" + (" by that line" if site.line else ""),)
    return Verdict(entry, link, depth, confidence, score, captures, reasons)


def _line_likeness(line: str, link: Raised) -> float:
    """How like the site's line one of the two innermost telling lines is; blanks do not count."""
    from rapidfuzz import fuzz  # waits: import sgl_explain must cost nothing

    frame = link.sglang_frame
    lines = {item.line for item in (*link.frames[-1:], *([frame] if frame else [])) if item.line}
    wanted = "".join(line.split())
    return max((fuzz.ratio(wanted, "".join(text.split())) for text in lines), default=0.0)


def _by_likeness(link: Raised, depth: int, knowledge: Knowledge) -> Iterator[Verdict]:
    """Probable verdicts from wording that drifted: alike enough, by a clear lead."""
    alike = [verdict for verdict in _alike(link, depth, knowledge) if verdict.score >= _PROBABLE_RATIO]
    if not alike:
        return
    best = alike[0]
    others = (item for item in alike[1:] if item.entry.id != best.entry.id)
    rival = next((item for item in others if not _are_related(best.entry, item.entry)), None)
    if rival is None or best.score - rival.score >= _MARGIN:
        # below every match of a template: the score of those starts at the weight of their literals
        yield replace(best, confidence="probable", score=best.score / 100)


def _nearest(evidence: Evidence, knowledge: Knowledge) -> Iterator[Verdict]:
    """The most alike entry of every link, and its runners-up; only for a person who asked."""
    if not evidence.context.deliberate:
        return
    seen: set[str] = set()
    for depth, link in enumerate(evidence.raised):
        for verdict in _alike(link, depth, knowledge):
            if verdict.entry.id not in seen and verdict.score >= _SIMILAR_RATIO:
                seen.add(verdict.entry.id)
                yield verdict


def _alike(link: Raised, depth: int, knowledge: Knowledge) -> list[Verdict]:
    message = _without_values(link.message[:_FUZZY_CHARS])
    found = (
        Verdict(item.entry, link, depth, "similar", ratio, {}, (f"its wording is {ratio:.0f} % alike",))
        for item in knowledge.templates_like(link.message[:_FUZZY_CHARS])
        if _type_fit(item.entry, link) is not _Fit.NO
        and len(words_in(_without_values(item.template.literals))) >= _MIN_FUZZY_WORDS
        and _keeps_its_values(item.template, link.message)
        and not _is_raised_by_others(item.entry, link)
        and not _is_raised_by_a_library(item.entry, link)
        and (ratio := _ratio(message, item)) >= _SIMILAR_RATIO
        and (ratio < _PROBABLE_RATIO or knowledge.says_the_rarest_word(item, link.message))
    )
    return sorted(found, key=lambda verdict: -verdict.score)


def _ratio(message: str, item: IndexedTemplate) -> float:
    from rapidfuzz import fuzz  # waits: import sgl_explain must cost nothing

    literals = _without_values(item.template.literals)
    return fuzz.ratio(message[: 2 * len(literals)], literals)


def _keeps_its_values(template: Template, message: str) -> bool:
    """Whether the numbers, quoted words and identifiers that a template spells out stand in the message too."""
    quoted = _FIXED.findall(" ".join(found[0] for found in _VALUES.finditer(template.literals)))
    spelled = (*quoted, *_IDENTIFIER.findall(template.literals))
    return all(value.lower() in message.lower() for value in spelled)


_IDENTIFIER: Final = re.compile(r"\w*[a-z][A-Z]\w*|\w*__\w+")
_FIXED: Final = re.compile(r"[A-Za-z_][\w./-]{2,}|\d+")
_VALUES: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\b\d[\d.,]*\b|\s+")


def _without_values(text: str) -> str:
    """The text as templates see it: no numbers, no quoted values, blanks folded, one case."""
    return _VALUES.sub(" ", text).lower().strip()


def _is_raised_by(entry: Entry, link: Raised) -> bool:
    """Whether the raise lies in a function the entry names, or in a helper that it called."""
    ours = [frame for frame in link.frames if frame.in_sglang] or link.frames[-1:]
    places = [(frame.module, frame.function) for frame in ours[-_HELPER_FRAMES:]]
    return any(site.holds(*place) for site in map(Site, entry.upstream) for place in places)


def _is_raised_by_others(entry: Entry, link: Raised) -> bool:
    """Whether frames and type show that neither SGLang nor a package the entry names had a part in it."""
    packages = set(map(_package, entry.upstream))
    involved = set(map(_package, (*link.types, *(frame.module for frame in link.frames))))
    return bool(link.frames) and not involved & packages and not any(frame.in_sglang for frame in link.frames)


def _is_raised_by_a_library(entry: Entry, link: Raised) -> bool:
    """Whether SGLang called a package that the entry does not name, and that raised it in these words of SGLang's."""
    if not link.frames or link.sglang_frame is None or link.server or entry.is_third_party:
        return False
    return not link.frames[-1].in_sglang and _package(link.frames[-1].module) not in map(_package, entry.upstream)


def _package(name: str) -> str:
    return name.partition(":")[0].partition(".")[0]


def _type_fit(entry: Entry, link: Raised) -> _Fit:
    if not link.types or not entry.raises:
        return _Fit.UNKNOWN
    known = set(link.types) | {_bare(name) for name in link.types}
    return _Fit.YES if _any_in(entry.raises, known) else _Fit.NO


def _any_in(raises: Iterable[str], known: set[str]) -> bool:
    return any(name in known or _bare(name) in known for name in raises)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]
