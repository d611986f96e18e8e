"""What the facts about flags say of an argument that argparse rejected, for the release at hand.

Each fact has a name that an entry's texts, conditions and fixes can use like a captured value (`FACTS` lists them);
it is there only when it is so. An error about several words gives one set of facts for each, told apart by ``word``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sgl_explain.command_words import Part, bare_words, parts_in
from sgl_explain.evidence import Context
from sgl_explain.flag_history import came_or_went, history_of, span_of
from sgl_explain.flags import SERVER, Flag, known_flags, known_release, known_releases
from sgl_explain.mending import as_number, as_one_word
from sgl_explain.spelling import completed, nearest, same_but_for_form

Facts = Mapping[str, str]

_PROGRAM: Final = re.compile(r"(\S+)(?: serve)?: error: ")
_PROGRAMS: Final = {"bench_serving": "bench_serving", "benchmark.serving": "bench_serving", "router": "router"}
_CALLED: Final = {SERVER: "sglang.launch_server", "bench_serving": "sglang.bench_serving"}
_TURNED: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), "on"), **dict.fromkeys(("false", "0", "no", "off"), "off"),
}  # fmt: skip
_MAX_CANDIDATES: Final = 4


@dataclass(frozen=True, slots=True)
class Rejection:
    """An argument error: the values its template captured, the message, and what surrounds it."""

    captures: Mapping[str, str]
    message: str
    context: Context

    @property
    def release(self) -> str | None:
        """The release at hand, if it is one of which something is known."""
        return known_release(self.context.release)

    @property
    def program(self) -> str:
        """The program whose parser rejected it: the server, unless the message or the command says otherwise."""
        found = _PROGRAM.search(self.message)
        said = " ".join((found[1] if found else "", *self.context.command[:3]))
        return next((program for sign, program in _PROGRAMS.items() if sign in said), SERVER)

    @property
    def releases(self) -> Facts:
        """The release at hand and the newest one of which something is known, as facts."""
        return {"installed": self.context.release or "", "newest": known_releases()[-1]}


def facts_about(kind: str, rejection: Rejection) -> tuple[Facts, ...]:
    """Return the facts of a kind (a key of `FACTS`), one set for each word in question; () if there are none."""
    found = ({**rejection.releases, **facts} for facts in _FINDERS[kind](rejection))
    return tuple({name: fact for name, fact in facts.items() if fact} for facts in found)


# --- flags that the parser does not know ------------------------------------------------------------------------


def _unknown(rejection: Rejection) -> Iterator[Facts]:
    """Facts about each word that was left over: ``unrecognized arguments: …``."""
    for part in parts_in(rejection.captures.get("flags", ""), rejection.context.command):
        if part.is_flag:
            yield from _facts_of_flag(part, rejection)
        elif part.after:
            yield {"word": part.word, **_facts_of_stray(part, rejection)}
        else:
            yield {"word": part.word}


def _facts_of_flag(part: Part, rejection: Rejection) -> Iterator[Facts]:
    names = _names(rejection.program, rejection.release)
    spelled = same_but_for_form(part.word, names) or _completed(part.word, names, rejection.program)
    if spelled and spelled != part.word:
        yield {"word": part.word, "spelled": spelled, **_span(spelled, rejection)}
        return
    known = known_flags(rejection.program)
    meant = same_but_for_form(part.word, known) or _nearest_elsewhere(part.word, names, tuple(known))
    if meant:
        yield {"word": part.word, "meant": meant, **history_of(known[meant], meant, part.values, rejection.release)}
        return
    stranger = _program_with(part.word, rejection.program)
    near = nearest(part.word, names) if not stranger else ()
    for name in near or ("",):
        yield {"word": part.word, "nearest": name, "program": stranger, **_span(name, rejection)}


def _completed(word: str, names: Sequence[str], program: str) -> str:
    """The flag that a word would be short for if it were written as one (``-tp``), where it is but one."""
    found = completed(word, names) if not same_but_for_form(word, known_flags(program)) else ()
    return found[0] if len({known_flags(program)[name] for name in found}) == 1 else ""


@lru_cache(maxsize=8)
def _names(program: str, release: str | None) -> tuple[str, ...]:
    """The spellings that a release has of a program's flags."""
    flags = dict.fromkeys(known_flags(program).values())
    return tuple(name for flag in flags for name in flag.spellings_in(release))


def _nearest_elsewhere(word: str, names: Sequence[str], all_names: Sequence[str]) -> str:
    """A flag of another release, where no flag of this one is as near."""
    found = nearest(word, all_names)
    return found[0] if found and not set(found).intersection(names) else ""


def _program_with(word: str, program: str) -> str:
    others = (other for other in _CALLED if other != program)
    return next((_CALLED[other] for other in others if same_but_for_form(word, known_flags(other))), "")


def _span(name: str, rejection: Rejection) -> Facts:
    """The releases that have a flag, where the one at hand is not known."""
    flag = known_flags(rejection.program).get(name)
    return span_of(flag, name) if flag and rejection.release is None else {}


# --- words that belong to the flag before them ------------------------------------------------------------------


def _facts_of_stray(part: Part, rejection: Rejection) -> Facts:
    flag = known_flags(rejection.program).get(part.after)
    if flag is None or flag.takes_in(rejection.release) == "nothing":
        return {"switch": part.after, "turned": _TURNED.get(part.word.lower(), "neither")} if flag else {}
    return {"torn": part.after, "whole": as_one_word(" ".join((*part.before, part.word)))}


# --- a flag cut short, one that is missing ----------------------------------------------------------------------


def _ambiguous(rejection: Rejection) -> Iterator[Facts]:
    """Facts about a flag cut too short, and one set for each flag it can mean."""
    word = rejection.captures.get("flag", "")
    if word in known_flags():
        told = history_of(known_flags()[word], word, (), rejection.release)
        if told.get("renamed"):
            yield {"word": word, "meant": word, **told}
            return
    candidates = [name.strip() for name in rejection.captures.get("candidates", "").split(",")]
    for name in candidates[:_MAX_CANDIDATES]:
        yield {"word": word, "candidate": name}


def _missing(rejection: Rejection) -> Iterator[Facts]:
    """Where the required flag may be hidden in the command: misspelled, or its value without it."""
    required = tuple(re.findall(r"--[\w-]+", rejection.message.rpartition("required:")[2]))
    command = rejection.context.command
    unknown = [word for word in map(_spelling, command) if word[:1] == "-" and word not in known_flags()]
    for word in unknown:
        spelled = same_but_for_form(word, required)
        near = nearest(word, required)
        if spelled or near:
            yield {"word": word, "spelled": spelled or "", "nearest": "" if spelled else near[0]}
            return
    yield {"positional": next(iter(bare_words(command)), "")}


def _spelling(word: str) -> str:
    return word.partition("=")[0]


# --- values -----------------------------------------------------------------------------------------------------


def _choice(rejection: Rejection) -> Iterator[Facts]:
    """Facts about a value that is none of the choices: the nearest of them, and the releases that have the value."""
    option, given = _option(rejection), rejection.captures.get("given", "").strip("'\"")
    choices = [choice.strip(" '\"") for choice in rejection.captures.get("choices", "").split(",")]
    spelled = same_but_for_form(given, choices)
    flag = known_flags(rejection.program).get(option)
    told = {"option": option, "value": given, "spelled": spelled or "", **_history_of_choice(flag, given, rejection)}
    near = nearest(given, choices) if not spelled and not told.keys() & {"new_in", "removed_in"} else ()
    for choice in near or ("",):
        yield {**told, "nearest": choice}


def _history_of_choice(flag: Flag | None, value: str, rejection: Rejection) -> Facts:
    if flag is None or value not in map(str, flag.choices or ()):
        return {}
    return came_or_went(flag, value, rejection.release) if rejection.release else span_of(flag, value)


def _value(rejection: Rejection) -> Iterator[Facts]:
    """Facts about a value that cannot be converted: the number or the JSON that it was meant to be."""
    given = rejection.captures.get("given", "")
    kind = re.search(r"(?i)invalid \w*(int|float)\w* value", rejection.message)
    number = as_number(given, is_int=kind[1] == "int") if kind else ""
    whole = as_one_word(given) if not kind else ""
    yield {"option": _option(rejection), "number": number, "whole": whole if whole != given else ""}


def _no_value(rejection: Rejection) -> Iterator[Facts]:
    """Facts about a flag without its value: the word after it that begins with a dash and is no flag."""
    option, command = _option(rejection), rejection.context.command
    following = [after for word, after in pairwise(command) if word == option]
    dashed = next((word for word in following if word[:1] == "-" and word[:2] != "--"), "")
    yield {"option": option, "dashed": dashed}


def _option(rejection: Rejection) -> str:
    """The flag of an ``argument --a/--b: …`` message as the command spells it, or else its main spelling."""
    spellings = rejection.captures.get("flag", "").split("/")
    typed = map(_spelling, rejection.context.command)
    return next((word for word in typed if word in spellings), spellings[0])


_FINDERS: Final[Mapping[str, Callable[[Rejection], Iterator[Facts]]]] = {
    "unknown flags": _unknown,
    "ambiguous flag": _ambiguous,
    "missing flag": _missing,
    "choice": _choice,
    "value": _value,
    "no value": _no_value,
}
_ALWAYS: Final = ("installed", "newest")
_OF_HISTORY: Final = ("meant", "first", "last", "gone_in", "removed_in", "new_in", "renamed", "replacement")
FACTS: Final[Mapping[str, frozenset[str]]] = {
    "unknown flags": frozenset(
        {*_ALWAYS, "word", "spelled", "nearest", "program", "switch", "turned", "torn", "whole", *_OF_HISTORY}
    ),
    "ambiguous flag": frozenset({*_ALWAYS, "word", "candidate", *_OF_HISTORY}),
    "missing flag": frozenset({*_ALWAYS, "word", "spelled", "nearest", "positional"}),
    "choice": frozenset({*_ALWAYS, "option", "value", "spelled", "nearest", "first", "last", "new_in", "removed_in"}),
    "value": frozenset({*_ALWAYS, "option", "number", "whole"}),
    "no value": frozenset({*_ALWAYS, "option", "dashed"}),
}
"""The names that the facts of each kind can have; CONTRIBUTING.md says what they mean."""
