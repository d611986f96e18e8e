"""The rules one entry must keep by itself: names, templates, texts, code. Each yields its problems."""

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Final

from sgl_explain.argument_facts import FACTS
from sgl_explain.choosing import RULE_WORDS, choice_rule
from sgl_explain.entry import APPLICABILITIES, LANGUAGES, NEEDS, PHASES, Entry, EntryFix, template_of
from sgl_explain.flags import known_flags
from sgl_explain.machine import FACTS as MACHINE_FACTS
from sgl_explain.release import is_range
from sgl_explain.template import Template

Rule = Callable[[Entry], Iterator[str]]

_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_ID_CHARS: Final = 64
_MAX_TITLE_CHARS: Final = 72
_MIN_WORDS: Final = 2
_RARE_WORD_CHARS: Final = 8
_FILLER: Final = re.compile(
    r"(?i)this error (?:occurs|happens|means|is raised)|check your (?:configuration|config|settings|environment)\b"
    r"|please (?:ensure|make sure|check)|try again later|something went wrong|for some reason|properly configured"
)
_HEDGE: Final = re.compile(r"(?i)\b(?:might|may|could) (?:possibly|perhaps|maybe)\b|\bit seems\b|\bprobably because\b")
_RESIDUE: Final = re.compile(r"TODO|FIXME|XXX|\bself\.|f\"|^\s*#", re.MULTILINE)


def names(entry: Entry) -> Iterator[str]:
    """Ids are kebab-case; titles are short, name the problem and hold no placeholder."""
    if not _ID.fullmatch(entry.id) or len(entry.id) > _MAX_ID_CHARS:
        yield f"id: use kebab-case of at most {_MAX_ID_CHARS} characters"
    if len(entry.title) > _MAX_TITLE_CHARS:
        yield f"title: {len(entry.title)} characters, at most {_MAX_TITLE_CHARS}"
    if entry.title.endswith(".") or "{" in entry.title:
        yield "title: no full stop, no placeholder"
    if not entry.upstream:
        yield "upstream: is empty; name module:function, or a third party's package"


def closed_sets(entry: Entry) -> Iterator[str]:
    """Phases, applicabilities, languages and ranges are known ones."""
    if entry.phase and entry.phase not in PHASES:
        yield f"phase: {entry.phase!r} is none of {', '.join(PHASES)}"
    if entry.facts and entry.facts not in FACTS:
        yield f"facts: {entry.facts!r} is none of {', '.join(FACTS)}"
    if not is_range(entry.versions):
        yield f"versions: {entry.versions!r} is not a range such as '>=0.5.16,<0.5.20'"
    if entry.example.language not in LANGUAGES:
        yield f"example.language: {entry.example.language!r} is none of {', '.join(LANGUAGES)}"
    for number, fix in enumerate(entry.fixes, start=1):
        if fix.applicability not in APPLICABILITIES:
            yield f"fix {number}: applicability {fix.applicability!r} is none of {', '.join(APPLICABILITIES)}"
    for place, needs in _needs(entry):
        if needs and needs not in NEEDS:
            yield f"{place}.needs: {needs!r} is none of {', '.join(NEEDS)}"


def completeness(entry: Entry) -> Iterator[str]:
    """What every entry must say."""
    for name in ("fixes", "situations", "tests"):
        if not getattr(entry, name):
            yield f"{name}: at least one is needed"
    if not entry.templates and not entry.sites:
        yield "templates or sites: one of them is needed"
    if not entry.prevention.habits:
        yield "prevention.habits: at least one is needed"
    if len(entry.cases) == 1:
        yield "cases: a single case is the meaning itself"
    for number, fix in enumerate(entry.fixes, start=1):
        if not fix.do:
            yield f"fix {number}: do is empty"
    for number, test in enumerate(entry.tests, start=1):
        if not test.message and not test.traceback:
            yield f"test {number}: a message or a traceback is needed"


def templates(entry: Entry) -> Iterator[str]:
    """A template holds two literal words or one rare one."""
    for text in entry.templates:
        words = Template.parse(text).words
        if len(words) < _MIN_WORDS and not any(len(word) >= _RARE_WORD_CHARS or "_" in word for word in words):
            yield f"template {text!r}: too few literal words to be told from other messages"


def captured_names(entry: Entry) -> Iterator[str]:
    """Every name used in a text is a fact or captured by every template (a site captures ``message``)."""
    by_template = [Template.parse(text).names for text in entry.templates]
    facts = FACTS.get(entry.facts, frozenset()) | MACHINE_FACTS
    captured = (frozenset.intersection(*by_template) if by_template else frozenset({"message"})) | facts
    if not by_template and not entry.sites:
        return
    choosing = {f"fix {number}" for number, fix in enumerate(entry.fixes, start=1) if fix.choose}
    for place, text in texts(entry, with_code=True):
        for name in sorted(template_of(text).names - captured - ({"choice"} if place in choosing else set())):
            yield (
                f"{place}: no template captures {{{name}}}"
                if name not in _some(by_template)
                else (f"{place}: {{{name}}} is not captured by every template")
            )
    for place, when in _conditions(entry):
        yield from (f"{place}: {problem}" for problem in _broken_patterns(when))
        for key in when:
            if key not in _KEYS | _some(by_template) | facts and not key.startswith("--"):
                yield f"{place}: condition {key!r} is no flag, captured name or fact, nor one of {sorted(_KEYS)}"


def chosen_values(entry: Entry) -> Iterator[str]:
    """A fix that chooses a value does so for one flag, by a known rule, from another flag."""
    for number, fix in enumerate(entry.fixes, start=1):
        place = f"fix {number}: choose"
        if len(fix.choose) > 1:
            yield f"{place}: one flag only"
        for flag, text in fix.choose.items():
            rule = choice_rule(text)
            if rule is None:
                yield f"{place}: {text!r} is none of {', '.join(f'{word} --flag' for word in RULE_WORDS)}"
            named = (flag, rule.flag) if rule else (flag,)
            yield from (f"{place}: {name} is no server flag" for name in named if name not in known_flags())


def code(entry: Entry) -> Iterator[str]:
    """Examples, fixes and prevention parse in their language."""
    for place, text in _python_texts(entry):
        try:
            ast.parse(text)
        except SyntaxError as error:
            yield f"{place}: not Python: {error.msg} (line {error.lineno})"
    for place, text in _shell_texts(entry):
        try:
            shlex.split(text, comments=True)
        except ValueError as error:
            yield f"{place}: not a shell command: {error}"


def prose(entry: Entry) -> Iterator[str]:
    """Texts are whole sentences without filler, hedging or residue of source code."""
    for place, text in texts(entry, with_code=False):
        told = text.strip()
        if not re.search(r"[.!?:)`'\"]$", told):
            yield f"{place}: not a whole sentence: …{told[-40:]!r}"
        for kind, pattern in (("filler", _FILLER), ("hedging", _HEDGE), ("source residue", _RESIDUE)):
            if found := pattern.search(told):
                yield f"{place}: {kind}: {found[0]!r}"


_KEYS: Final = frozenset({"message", "phase", "release"})
"""What a condition can always ask of."""

RULES: Final[tuple[Rule, ...]] = (
    names, closed_sets, completeness, templates, captured_names, chosen_values, code, prose,
)  # fmt: skip


def texts(entry: Entry, *, with_code: bool) -> Iterator[tuple[str, str]]:
    """Yield every text of an entry that a person reads, with its place; with_code also what is pasted."""
    yield "meaning", entry.meaning
    yield "trigger", entry.trigger
    yield from ((f"situation {number}", text) for number, text in enumerate(entry.situations, start=1))
    for number, case in enumerate(entry.cases, start=1):
        yield f"case {number} sign", case.sign
        yield f"case {number} means", case.means
    for number, fix in enumerate(entry.fixes, start=1):
        yield f"fix {number}", fix.do
        if with_code:
            yield from ((f"fix {number}", text) for text in _pasted(fix))
    yield from ((f"habit {number}", text) for number, text in enumerate(entry.prevention.habits, start=1))


def _pasted(fix: EntryFix) -> Iterator[str]:
    tables = (fix.set, fix.env, fix.rename)
    pasted = (fix.run, fix.code, *fix.remove, *(text for table in tables for pair in table.items() for text in pair))
    yield from (text for text in pasted if text)


def _broken_patterns(when: dict[str, str]) -> Iterator[str]:
    for key, wanted in when.items():
        try:
            re.compile(wanted)
        except re.error as error:
            yield f"condition {key!r}: {wanted!r} is no regular expression: {error}"


def _needs(entry: Entry) -> Iterator[tuple[str, str]]:
    yield from (("example", entry.example.needs), ("prevention", entry.prevention.needs))
    yield from ((f"fix {number}", fix.needs) for number, fix in enumerate(entry.fixes, start=1))


def _conditions(entry: Entry) -> Iterator[tuple[str, dict[str, str]]]:
    yield from ((f"fix {number}", fix.when) for number, fix in enumerate(entry.fixes, start=1))
    yield from ((f"case {number}", case.when) for number, case in enumerate(entry.cases, start=1))


def _some(by_template: list[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*by_template)


def _python_texts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.example.language == "python":
        yield "example.before", entry.example.before
        yield "example.after", entry.example.after
    for name in ("validate", "guard", "catch"):
        yield f"prevention.{name}", getattr(entry.prevention, name)
    for number, fix in enumerate(entry.fixes, start=1):
        yield f"fix {number} code", _sample(fix.code)


def _shell_texts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.example.language == "shell":
        yield "example.before", entry.example.before
        yield "example.after", entry.example.after
    for number, fix in enumerate(entry.fixes, start=1):
        yield f"fix {number} run", _sample(fix.run)


def _sample(text: str) -> str:
    """Code with a value in each placeholder, so that it can be parsed."""
    template = template_of(text) if text else Template("", ())
    return template.fill(dict.fromkeys(template.names, "value"))
