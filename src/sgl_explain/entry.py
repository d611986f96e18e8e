"""The entry format: what one error's knowledge looks like, and reading it from plain data.

Reading checks names and types of every field and reports all problems together; rules that need more than one
entry, or SGLang's source, belong to ``authoring.check``. CONTRIBUTING.md describes each field for authors.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from sgl_explain.errors import KnowledgeError, TemplateError
from sgl_explain.template import Template

PHASES: Final = ("arguments", "load", "kv_pool", "graph_capture", "prefill", "decode", "request", "client")
APPLICABILITIES: Final = ("safe", "unsafe", "display")
LANGUAGES: Final = ("shell", "python", "json", "yaml", "text")
NEEDS: Final = ("server", "model", "gpu", "machine", "network", "files", "package")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source that raises: ``module:function`` (``*`` matches any), and its source line if it matters."""

    upstream: str
    line: str = ""

    @property
    def module(self) -> str:
        """The dotted module, possibly with ``*``."""
        return self.upstream.partition(":")[0]

    @property
    def function(self) -> str:
        """The function's own name, without its class, possibly with ``*``; empty for a whole module."""
        return self.upstream.partition(":")[2].rpartition(".")[2]

    def holds(self, module: str, function: str) -> bool:
        """Whether a function, by its own name, is this place or one of these places."""
        return fnmatchcase(module, self.module) and fnmatchcase(function, self.function)


@dataclass(frozen=True, slots=True)
class EntryFix:
    """One remedy as the author wrote it; texts and values may hold placeholders."""

    do: str = ""
    applicability: str = "display"
    set: dict[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    rename: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    run: str = ""
    code: str = ""
    when: dict[str, str] = field(default_factory=dict)
    choose: dict[str, str] = field(default_factory=dict)
    otherwise: bool = False
    remedy: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class EntryCase:
    """One of several causes of the same text: how to recognise it, and what then is wrong."""

    sign: str
    means: str
    when: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """What raises the error and what does not."""

    before: str
    after: str
    language: str = "shell"
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Prevention:
    """Checks and habits that keep the error from coming back; code is Python."""

    habits: tuple[str, ...]
    validate: str = ""
    guard: str = ""
    catch: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class EntryTest:
    """A message (or a whole traceback) that must find its entry, with the values that must be captured."""

    message: str = ""
    type: str = ""
    captures: dict[str, str] = field(default_factory=dict)
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class LiveCase:
    """An input that raises the error on the real SGLang, and a corrected one that does not."""

    argv: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    code: str = ""
    fixed_code: str = ""
    env: dict[str, str] = field(default_factory=dict)
    fixed_env: dict[str, str] = field(default_factory=dict)
    releases: tuple[str, ...] = ()
    fake_gpu: str = ""
    captures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """Everything known about one error. Texts are unfilled templates; order of fixes is the author's ranking."""

    id: str
    title: str
    raises: tuple[str, ...]
    upstream: tuple[str, ...]
    versions: str
    meaning: str
    trigger: str
    situations: tuple[str, ...]
    fixes: tuple[EntryFix, ...]
    example: Example
    prevention: Prevention
    tests: tuple[EntryTest, ...] = ()
    templates: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    cases: tuple[EntryCase, ...] = ()
    related: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    live: tuple[LiveCase, ...] = ()
    phase: str = ""
    facts: str = ""
    wrapper: bool = False
    harmless: bool = False
    shared_with: tuple[str, ...] = ()
    aftermath: bool = False

    @property
    def is_widespread(self) -> bool:
        """Whether it names many places at once (``sglang.srt.models.*``): what they say is plain wording."""
        return any("*" in upstream for upstream in self.upstream)

    def shares_words(self, message: str) -> bool:
        """Whether only frames can show that a text is this entry's: others may say the same words."""
        plain = (template for template in map(template_of, self.templates) if template.is_plain)
        return self.is_widespread or any(template.match(message) for template in plain)

    @property
    def is_third_party(self) -> bool:
        """Whether another package's code raises it, so that SGLang must be in the picture."""
        return self.upstream[0].partition(":")[0].partition(".")[0] not in ("sglang", "sglang_router", "sgl_kernel")


def entry_from(entry_id: str, data: Mapping[str, object], source: str = "") -> Entry:
    """Read one entry from plain data, as TOML or JSON gives it.

    Raises KnowledgeError with every unknown key, missing key and wrong type, each as ``source: id.key: problem``.
    """
    reader = _Reader(f"{source}: {entry_id}" if source else entry_id)
    entry = reader.record(Entry, {"id": entry_id, **data}, "")
    if entry is None or reader.problems:
        raise KnowledgeError(reader.problems)
    return entry


def compiled_entry(data: Mapping[str, Any]) -> Entry:
    """Return an entry from data that `entry_to_dict` gave: nothing is checked, which is five times as fast."""
    told = {key: _trusted(value, _PART_BY_FIELD.get(key)) for key, value in data.items()}
    return Entry(**told)


_PART_BY_FIELD: Final = {
    "fixes": EntryFix, "cases": EntryCase, "sites": Site, "example": Example, "prevention": Prevention,
    "tests": EntryTest, "live": LiveCase,
}  # fmt: skip


def _trusted(value: Any, part: type[Any] | None = None) -> Any:
    if isinstance(value, list):
        return tuple(_trusted(item, part) for item in value)
    if part is not None:
        return part(**{key: _trusted(item) for key, item in value.items()})
    return value


def fix_from(name: str, data: Mapping[str, object], source: str = "") -> EntryFix:
    """Read one shared fix of ``remedies.toml``; raises KnowledgeError like `entry_from`."""
    reader = _Reader(f"{source}: {name}" if source else name)
    fix = reader.record(EntryFix, data, "")
    if fix is None or reader.problems:
        raise KnowledgeError(reader.problems)
    return fix


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """Return the entry as plain data without empty fields: what `entry_from` reads back."""
    data: dict[str, Any] = _plain(entry)
    return data


@lru_cache(maxsize=8192)
def template_of(text: str) -> Template:
    """Return a text of an entry as a template; one that cannot be read stands for itself."""
    try:
        return Template.of_text(text)
    except TemplateError:
        return Template(text, (text,))


@cache
def _shape_of(cls: type[Any]) -> tuple[dict[str, Any], dict[str, Field[Any]]]:
    return get_type_hints(cls), {item.name: item for item in fields(cls)}


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


class _Reader:
    """Turns plain data into the dataclasses above, collecting problems with their place."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.problems: list[str] = []

    def record(self, cls: type[_T], data: Mapping[str, object], where: str) -> _T | None:
        """Build one dataclass; None (and problems) when a required field is missing or wrong."""
        hints, known = _shape_of(cls)  # type: ignore[arg-type]  # a class is hashable
        for key in data:
            if key not in known:
                self.problem(where, key, f"unknown key; known are {', '.join(known)}")
        missing = [name for name, item in known.items() if name not in data and _is_required(item)]
        for name in missing:
            self.problem(where, name, "is missing")
        values = {key: self.value(hints[key], data[key], f"{where}{key}") for key in known if key in data}
        return None if missing else cls(**values)

    def value(self, hint: Any, value: object, where: str) -> Any:
        """Check one value against a field's type."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is tuple and isinstance(value, list | tuple):
            return tuple(self.value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
        if origin is dict and isinstance(value, Mapping):
            return {str(key): self.value(str, item, f"{where}.{key}") for key, item in value.items()}
        if hasattr(hint, "__dataclass_fields__") and isinstance(value, Mapping):
            return self.record(hint, value, f"{where}.")
        if origin is None and isinstance(hint, type) and isinstance(value, hint):
            return value
        self.problem("", where, f"is {type(value).__name__}, expected {_expected(hint)}")
        return None

    def problem(self, where: str, key: str, text: str) -> None:
        self.problems.append(f"{self.place}.{where}{key}: {text}")


def _expected(hint: Any) -> str:
    match get_origin(hint):
        case origin if origin is tuple:
            return "a list"
        case origin if origin is dict:
            return "a table of texts"
        case _:
            return {"str": "a text", "bool": "true or false"}.get(getattr(hint, "__name__", ""), "a table")


def _plain(value: Any) -> Any:
    """Dataclasses as tables, without the fields that stand at their default."""
    if is_dataclass(value):
        told = {item.name: getattr(value, item.name) for item in fields(value)}
        return {item.name: _plain(told[item.name]) for item in fields(value) if told[item.name] or _is_required(item)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
