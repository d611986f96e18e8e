"""Filling an entry's texts with a failure's values, and deciding the conditions they carry."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sgl_explain.command import has_flag, value_of
from sgl_explain.entry import template_of
from sgl_explain.evidence import Context
from sgl_explain.machine import FACTS
from sgl_explain.release import in_range

ABSENT: Final = "absent"
_THERE_OR_NOT: Final = (".", ABSENT)  # of captured values: the text itself speaks of them
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(`{-])")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What texts are filled with (``values``), and what conditions are decided by: ``captures`` and the context.

    ``captures`` is None where there is no failure, but an entry to be shown as a page. ``about`` holds the facts about
    each word of an argument error, which fixes are filled with one by one.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    captures: Mapping[str, str] | None = None
    context: Context = field(default_factory=Context)
    about: tuple[Mapping[str, str], ...] = ()

    def knowing(self, facts: Mapping[str, str]) -> "Circumstances":
        """Return the circumstances with facts among the values and captures."""
        captures = None if self.captures is None else {**self.captures, **facts}
        return replace(self, values={**self.values, **facts}, captures=captures, about=())


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its values; sentences whose values are not known are left out.

    White space is folded; paragraphs stay apart by one empty line. Python's lists of strings are told as words.
    """
    values = {name: _in_prose(value) for name, value in values.items()}
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    told = (_told_sentences(paragraph, values) for paragraph in paragraphs)
    return "\n\n".join(paragraph for paragraph in told if paragraph)


def filled_code(text: str, values: Mapping[str, str]) -> str | None:
    """Return code or a command with its values, line breaks kept; None where a value is not known."""
    template = template_of(text.strip("\n"))
    return template.fill(values) if template.names <= values.keys() else None


def holds(when: Mapping[str, str], circumstances: Circumstances) -> bool | None:
    """Tell whether a condition holds; None when what is known does not decide it."""
    verdicts = [_one_holds(key, wanted, circumstances) for key, wanted in when.items()]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def condition_text(when: Mapping[str, str], circumstances: Circumstances) -> str:
    """Return the undecided part of a condition in words: ``sglang >=0.5.20; phase: load``."""
    undecided = {key: wanted for key, wanted in when.items() if _one_holds(key, wanted, circumstances) is None}
    told = {key: wanted for key, wanted in undecided.items() if key.startswith("--") or wanted not in _THERE_OR_NOT}
    return "; ".join(words for key, wanted in told.items() if (words := _in_words(key, wanted)))


def _one_holds(key: str, wanted: str, circumstances: Circumstances) -> bool | None:
    match key:
        case "release":
            return in_range(circumstances.context.release, wanted)
        case "phase":
            phase = circumstances.context.phase
            return None if phase is None else phase in _alternatives(wanted)
        case flag if flag.startswith("--"):
            return _flag_holds(flag, wanted, circumstances.context.command)
        case fact if fact in FACTS:
            value = circumstances.context.facts.get(fact)
            return None if value is None else re.search(wanted, value) is not None
        case _:
            return None if circumstances.captures is None else _value_holds(circumstances.captures.get(key), wanted)


def _value_holds(value: str | None, wanted: str) -> bool:
    """Whether a captured value or fact is of this form, or is not there (``absent``)."""
    return value is None if wanted == ABSENT else value is not None and re.search(wanted, value) is not None


def _flag_holds(flag: str, wanted: str, command: Sequence[str]) -> bool | None:
    """Whether a launch command lacks a flag (``absent``), or gives it a value of this form; None without a command."""
    if not command:
        return None
    if wanted == ABSENT:
        return not has_flag(command, flag)
    return has_flag(command, flag) and re.search(wanted, value_of(command, flag) or "") is not None


def _alternatives(wanted: str) -> Iterable[str]:
    return (part.strip() for part in wanted.split("|"))


_PHASE_WORDS: Final = {
    "arguments": "while the arguments are checked",
    "load": "while the weights load",
    "kv_pool": "while the KV pool is allocated",
    "graph_capture": "during graph capture",
    "prefill": "during prefill",
    "decode": "during decode",
    "request": "while a request is handled",
    "client": "at the client",
}


def _in_words(key: str, wanted: str) -> str:
    """A condition as a person says it; empty where only a regular expression could say it."""
    value = _value_in_words(wanted)
    match key:
        case "release":
            return f"sglang {wanted}"
        case "phase":
            return " or ".join(_PHASE_WORDS.get(phase, phase) for phase in _alternatives(wanted))
        case "message":
            return f"the message says {value}" if value else ""
        case flag if flag.startswith("--"):
            return f"without {flag}" if wanted == ABSENT else f"with {flag} {value}".rstrip()
        case _:
            return f"{key.replace('_', ' ')} {value}" if value else ""


_FORMS: Final = {
    "^0$": "0", "^[1-9]": "above 0", r"^\d+$": "set", r"\d": "set", r"^\d{1,3}$": "below 1000",
    r"^\d{1,4}$": "below 10000", r"^\d{4,}$": "1000 or more",
}  # fmt: skip
_OF_REGEX: Final = re.compile(r"[\\.*+?()\[\]{}^$]")


def _value_in_words(wanted: str) -> str:
    """A form of value that is but a word or some alternatives, in words; empty for any other."""
    core = wanted.removeprefix("(?i)").strip("^$")
    if wanted in _FORMS:
        return _FORMS[wanted]
    if _OF_REGEX.search(re.sub(r"\\\W|(?<=\w)\.(?=\w)", "", core)):
        return ""
    return re.sub(r"\\(?=\W)", "", core).replace("|", " or ")


_STRING: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_STRINGS: Final = re.compile(rf"[\[({{](?:{_STRING.pattern})(?:, (?:{_STRING.pattern}))*,?[\])}}]")


def _in_prose(value: str) -> str:
    """``a, b`` for ``['a', 'b']``, also of a tuple or a set; any other value as it stands."""
    return ", ".join(text[1:-1] for text in _STRING.findall(value)) if _STRINGS.fullmatch(value) else value


def _told_sentences(paragraph: str, values: Mapping[str, str]) -> str:
    whole = template_of(paragraph)
    if whole.names <= values.keys():
        return whole.fill(values)
    templates = (template_of(sentence) for sentence in _SENTENCE_END.split(paragraph))
    return " ".join(template.fill(values) for template in templates if template.names <= values.keys())
