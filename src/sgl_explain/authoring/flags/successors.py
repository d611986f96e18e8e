"""What SGLang itself says a flag is to be replaced by: in the flag's declaration, or when it is used.

A successor is written ``--flag`` (the old value goes with it) or ``--flag=value`` (the old flag stood for this value).
Sentences about flags that are kept, or that name an environment variable, name no successor.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final

from sgl_explain.authoring.flags.declared import FIELDS, SERVER_ARGS, DeclaredFlag
from sgl_explain.authoring.inventory.source import Release
from sgl_explain.entry_files import read_toml
from sgl_explain.errors import KnowledgeError

_WORDED_IN: Final = (FIELDS.removesuffix("fields."),)
_ENDS: Final = re.compile(r"(?i)deprecat|no longer supported|\bremoved\b")
_SUBJECT: Final = re.compile(r"^(?:NOTE: )?(--[a-z0-9-]+) is (?:deprecated|no longer supported)\b")
_FLAG: Final = r"--[a-z0-9][a-z0-9-]*(?:\{[a-z,]+\}[a-z0-9-]*)?"
_VALUE: Final = r"[A-Za-z0-9_.+-]*[A-Za-z0-9]"
_SUCCESSOR: Final = re.compile(
    rf"(?i:\buse|\bset|\busing|\balias (?:for|of)) [`'\"]?(?P<flag>{_FLAG})(?![\w-]| to\b)"
    rf"(?:=(?P<joined>{_VALUE})| (?!instead)(?P<apart>{_VALUE})(?=['`\"]| instead\b|\.?$)"
    rf"|[`'\"] to '(?P<quoted>{_VALUE})')?"
)
_BARE: Final = re.compile(rf"(?P<flag>{_FLAG})(?:=(?P<joined>{_VALUE}))?(?: <[a-z-]+>)?")


def successors_by_flag(release: Release, flags: Iterable[DeclaredFlag]) -> dict[str, tuple[str, ...]]:
    """Return the successors that a release names, by each spelling of the flag they replace.

    Only flags that the release has are named as successors.
    """
    declared = tuple(flags)
    known = {name for flag in declared for name in flag.names}
    said = {name: flag.said for flag in declared for name in flag.names}
    found: dict[str, tuple[str, ...]] = {}
    for name, text in (*((name, text) for name, texts in said.items() for text in texts), *_said_on_use(release)):
        successors = tuple(word for word in successors_in(text) if word.partition("=")[0] in known - {name})
        if name in known and successors:
            found.setdefault(name, successors)
    return found


def successors_by_hand(file: Path) -> dict[str, tuple[str, ...]]:
    """Return the successors that no release names: of each flag a ``successor``, and the ``source`` it is known from.

    Raises KnowledgeError with every record that is not of this form.
    """
    found: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for name, record in read_toml(file).items():
        match record:
            case {"successor": str() as successor, "source": str() as source, **rest} if source.strip() and not rest:
                found[name] = (successor,)
            case _:
                wrong.append(f'{file.name}: {name}: write successor = "--x" and source = "…"')
    if wrong:
        raise KnowledgeError(wrong)
    return found


def successors_in(text: str) -> tuple[str, ...]:
    """Return what a sentence tells to use instead of a flag that goes; nothing if it says nothing of the kind."""
    bare = _BARE.fullmatch(text)
    found = bare or (_SUCCESSOR.search(text) if _ENDS.search(text) else None)
    if found is None:
        return ()
    values: Mapping[str, str | None] = found.groupdict()
    value = values["joined"] or values.get("apart") or values.get("quoted")
    names = ("".join(parts) for parts in product(*_alternatives(values["flag"] or "")))
    return tuple(f"{name}={value}" if value else name for name in names)


def _alternatives(name: str) -> Iterator[tuple[str, ...]]:
    """``--x-{a,b}`` as the parts that are joined in every combination."""
    for part in re.split(r"(\{[^}]*\})", name):
        yield tuple(part[1:-1].split(",")) if part.startswith("{") else (part,)


def _said_on_use(release: Release) -> Iterator[tuple[str, str]]:
    """What is logged when a deprecated flag is used: the flag it begins with, and the text."""
    for name in release.module_names:
        if name != SERVER_ARGS and not name.startswith(_WORDED_IN):
            continue
        module = release.find_module(name)
        for node in ast.walk(module.tree) if module else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                subject = _SUBJECT.match(node.value)
                if subject:
                    yield subject[1], node.value[subject.end() :] + " (deprecated)"
