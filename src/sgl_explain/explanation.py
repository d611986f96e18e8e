"""Explanations: an entry with one failure's values filled in. Frozen, picklable, made of strings.

`diagnose` and `scan` are the library's two questions; renderers turn what they return into a form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sgl_explain.argument_facts import FACTS, Rejection, facts_about
from sgl_explain.entry import Entry, Example, Prevention
from sgl_explain.environment import phase_of
from sgl_explain.evidence import Context, Evidence
from sgl_explain.fixing import Fix, fixes_for
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.matching import Confidence, Judgement, Verdict, judge
from sgl_explain.wording import Circumstances, condition_text, filled, holds

_MAX_CAPTURE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Cause:
    """One of several causes the same error can have: the sign that tells it, and what then is wrong."""

    sign: str
    means: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """An entry that is only alike; ``likeness`` in per cent, 0 where it merely speaks of the same words."""

    id: str
    title: str
    likeness: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a failure means, why it happened here, and what to type instead.

    ``confidence`` is ``exact`` or ``probable`` for an explanation, ``similar`` where only ``nearest`` is known
    (``id`` is None then). ``line`` is the 1-based line of a log where the failure begins. Print it with ``str()``;
    notebooks show it as HTML; `to_dict` gives the versioned record that ``--json`` prints.
    """

    id: str | None
    title: str
    confidence: Confidence
    exception: str
    message: str
    captures: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""
    causes: tuple[Cause, ...] = ()
    fixes: tuple[Fix, ...] = ()
    trigger: str = ""
    situations: tuple[str, ...] = ()
    example: Example | None = None
    prevention: Prevention | None = None
    related: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    versions: str = ""
    seen: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    wrapped_by: tuple[str, ...] = ()
    is_wrapper: bool = False
    is_harmless: bool = False
    is_aftermath: bool = False
    phase: str | None = None
    rank: str | None = None
    release: str | None = None
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data with a ``schema`` number: what ``--json`` prints."""
        from sgl_explain.render.record import record  # waits: renderers stand above this module

        return record(self)

    def __str__(self) -> str:
        from sgl_explain.render.plain import short_text  # waits: renderers stand above this module

        return short_text(self)

    def _repr_html_(self) -> str:
        from sgl_explain.render.page import short_html  # waits: renderers stand above this module

        return short_html(self)


def explained(evidence: Evidence, knowledge: Knowledge) -> Explanation | None:
    """Return the explanation of a failure, if an entry accounts for it exactly or probably."""
    judgement = judge(evidence, knowledge)
    if judgement.verdict is None or judgement.verdict.confidence == "similar":
        return None
    return _explanation(judgement.verdict, judgement, evidence)


def explanation_of(entry: Entry) -> Explanation:
    """Return an entry as a page of its own: with the values of its first test, where a failure's would stand."""
    names = {name for text in entry.templates for name in _names(text)} | FACTS.get(entry.facts, frozenset())
    values = {name: f"<{name}>" for name in names}
    circumstances = Circumstances({**values, "message": "<message>"})
    message = filled(entry.templates[0], values) if entry.templates else ""
    exception = entry.raises[0] if entry.raises else ""
    page = Explanation(entry.id, entry.title, "exact", exception, message)
    return _with_entry(page, entry, circumstances)


def _names(text: str) -> frozenset[str]:
    from sgl_explain.entry import template_of

    return template_of(text).names


def _explanation(verdict: Verdict, judgement: Judgement, evidence: Evidence) -> Explanation:
    context = evidence.context
    phase = phase_of(verdict.raised.frames) or context.phase or verdict.entry.phase or None
    context = replace(context, phase=phase)
    about = _facts(verdict.entry, verdict.captures, verdict.raised.message, context)
    told = about[0] if len(about) == 1 else {}  # of several words, what is true of each stands in its fixes
    captures = {name: shorten(value, _MAX_CAPTURE_CHARS) for name, value in {**verdict.captures, **told}.items()}
    page = Explanation(
        id=verdict.entry.id,
        title=verdict.entry.title,
        confidence=verdict.confidence,
        exception=verdict.raised.types[0] if verdict.raised.types else "",
        message=verdict.raised.message,
        captures=captures,
        reasons=verdict.reasons,
        wrapped_by=tuple(wrapper.entry.id for wrapper in judgement.wrapped_by),
        phase=phase,
        rank=context.rank,
        release=context.release,
    )
    return _with_entry(page, verdict.entry, _circumstances(page, verdict.entry, context))


def retold(page: Explanation, knowledge: Knowledge, context: Context) -> Explanation:
    """Return an explanation again, with what the caller knows besides: the command, the machine's facts."""
    if page.id is None:
        return page
    entry, context = knowledge.get(page.id), replace(context, release=page.release)
    return _with_entry(page, entry, _circumstances(page, entry, context))


def _circumstances(page: Explanation, entry: Entry, context: Context) -> Circumstances:
    about = _facts(entry, page.captures, page.message, context)
    values = {**context.facts, **page.captures}
    captures = {"message": page.message, **page.captures}
    return Circumstances(values, captures, replace(context, phase=page.phase), about)


def _facts(entry: Entry, captures: Mapping[str, str], message: str, context: Context) -> tuple[Mapping[str, str], ...]:
    """What is known of each word that an argument error is about; () for other errors."""
    if entry.facts not in FACTS:
        return ()
    return facts_about(entry.facts, Rejection(captures, message, context))


def shorten(text: str, max_chars: int) -> str:
    """Return the text, cut at a blank and marked with ``…`` where it is longer."""
    if len(text) <= max_chars:
        return text
    return text[:max_chars].rpartition(" ")[0] + " …"


def _with_entry(page: Explanation, entry: Entry, circumstances: Circumstances) -> Explanation:
    values = circumstances.values
    return replace(
        page,
        is_wrapper=entry.wrapper,
        is_harmless=entry.harmless,
        is_aftermath=entry.aftermath,
        meaning=filled(entry.meaning, values),
        causes=_causes(entry, circumstances),
        fixes=fixes_for(entry, circumstances),
        trigger=filled(entry.trigger, values),
        situations=tuple(text for text in (filled(item, values) for item in entry.situations) if text),
        example=entry.example,
        prevention=entry.prevention,
        related=entry.related,
        upstream=entry.upstream,
        versions=entry.versions,
        seen=entry.seen,
    )


def _causes(entry: Entry, circumstances: Circumstances) -> tuple[Cause, ...]:
    """The cause that the values decide, or all that they leave possible."""
    verdicts = [(case, holds(case.when, circumstances) if case.when else None) for case in entry.cases]
    decided = [case for case, verdict in verdicts if verdict]
    possible = decided or [case for case, verdict in verdicts if verdict is not False]
    return tuple(
        Cause(
            "" if decided else filled(case.sign, circumstances.values),
            filled(case.means, circumstances.values),
            condition_text(case.when, circumstances),
        )
        for case in possible
    )
