"""Explanations: an entry with one failure's values filled in. Frozen, picklable, made of strings.

`diagnose` and `scan` are the library's two questions; renderers turn what they return into a form.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sgl_explain.choosing import choices_for
from sgl_explain.command import corrected, shell_text
from sgl_explain.entry import Entry, EntryFix, Example, Prevention
from sgl_explain.environment import phase_of
from sgl_explain.evidence import Evidence
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.matching import Confidence, Judgement, Verdict, judge
from sgl_explain.wording import Circumstances, condition_text, filled, filled_code, holds

_MAX_CAPTURE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy with this failure's values.

    ``applicability`` is ``safe`` (nothing is lost), ``unsafe`` (something is given up; ``do`` says what) or
    ``display`` (a hint for a person). ``condition`` says when it applies, where that could not be decided.
    ``command`` is the whole corrected launch command, where the failing one is known.
    """

    do: str
    applicability: str
    condition: str = ""
    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    code: str = ""
    command: str = ""


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
    values = {name: f"<{name}>" for text in entry.templates for name in _names(text)}
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
    captures = {name: shorten(value, _MAX_CAPTURE_CHARS) for name, value in verdict.captures.items()}
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
    return _with_entry(page, verdict.entry, Circumstances(captures, captures, replace(context, phase=phase)))


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
        fixes=tuple(_fixes(entry, circumstances)),
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


def _fixes(entry: Entry, circumstances: Circumstances) -> Iterator[Fix]:
    possible = (fix for fix in entry.fixes if holds(fix.when, circumstances) is not False)
    tellings = (_fix(*chosen) for fix in possible for chosen in _chosen(fix, circumstances))
    yield from (told for told in tellings if told)


def _chosen(fix: EntryFix, circumstances: Circumstances) -> Iterator[tuple[EntryFix, Circumstances]]:
    """The fix as it is, or once for each value it offers, which the launch command decides."""
    if not fix.choose:
        yield fix, circumstances
    for flag, value in choices_for(fix.choose, circumstances.context.command):
        values = {**circumstances.values, "choice": value}
        yield replace(fix, set={**fix.set, flag: value}), replace(circumstances, values=values)


def _fix(fix: EntryFix, circumstances: Circumstances) -> Fix | None:
    """One fix with its values; None where a value that it needs is not known."""
    values, context = circumstances.values, circumstances.context
    code, run = filled_code(fix.code, values), filled_code(fix.run, values)
    flags, env = _filled_values(fix.set, values), _filled_values(fix.env, values)
    do = filled(fix.do, values)
    if code is None or run is None or flags is None or env is None or not do:
        return None
    changed = corrected(context.command, flags, fix.remove)
    command = shell_text(changed) if context.command and changed != context.command else ""
    condition = condition_text(fix.when, circumstances)
    return Fix(do, fix.applicability, condition, flags, fix.remove, env, run, code, command)


def _filled_values(table: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str] | None:
    filled_values = {name: filled_code(value, values) if value else "" for name, value in table.items()}
    known = {name: value for name, value in filled_values.items() if value is not None}
    return known if len(known) == len(table) else None
