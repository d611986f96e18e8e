"""Proof that an entry's templates, sites and upstream symbols stand in the real source of an SGLang release."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

from sgl_explain.authoring.inventory import Saying, inventory
from sgl_explain.authoring.inventory.source import Module, release_at
from sgl_explain.authoring.inventory.source import Release as ReleaseSource
from sgl_explain.entry import Entry, Site
from sgl_explain.errors import KnowledgeError, TemplateError
from sgl_explain.release import in_range, parse_release
from sgl_explain.template import Template

if TYPE_CHECKING:
    from sgl_explain.authoring.check import Shelf

_SAMPLE: Final = "7"  # fits every kind of placeholder
_MIN_WEIGHT: Final = 8
DEFAULT_CACHE: Final = Path.home() / ".cache" / "sgl_explain" / "releases"


@dataclass(frozen=True, slots=True)
class Release:
    """The source of one SGLang release: its number, what it can say by module, and its defined names by module."""

    number: str
    sayings_by_module: Mapping[str, Sequence[Saying]]
    names_by_module: Mapping[str, frozenset[str]]
    path: Path

    def lines_of(self, module: str) -> tuple[str, ...]:
        """Return the source lines of a module."""
        return _parsed(self.path, module).lines

    def texts_of(self, module: str) -> str:
        """Return all text constants of a module, in the order of the source, white space folded."""
        constants = [node for node in ast.walk(_parsed(self.path, module).tree) if isinstance(node, ast.Constant)]
        texts = [node for node in constants if isinstance(node.value, str)]
        ordered = sorted(texts, key=lambda node: (node.lineno, node.col_offset))
        return " ".join("".join(str(node.value) for node in ordered).split())


def stands_in(releases: Iterable[str], cache: Path | None = None) -> Callable[["Shelf"], Iterator[tuple[str, str]]]:
    """Return a rule that proves SGLang's own entries against releases, each a number, a wheel or a folder.

    A number is downloaded once, with pip, into the cache folder. Raises KnowledgeError if that fails.
    """
    sources = [read_release(name, cache or DEFAULT_CACHE) for name in releases]

    def rule(shelf: "Shelf") -> Iterator[tuple[str, str]]:
        for entry in shelf.knowledge:
            if entry.upstream[0].startswith("sglang."):
                yield from ((entry.id, problem) for source in sources for problem in _problems(entry, source))

    return rule


def read_release(name: str, cache: Path) -> Release:
    """Read the source of a release from a folder, a wheel, or PyPI by its number.

    Reading takes most of a minute, so what was read is kept in the cache folder, keyed by release and reader.
    """
    path = located(name, cache)
    number = number_of(path)
    kept = cache / f"{number}-{_reader_key(path)}.json"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        written = kept.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(_as_data(path)), encoding="utf-8")
        written.replace(kept)
    return _from_data(number, path, json.loads(kept.read_text(encoding="utf-8")))


def located(name: str, cache: Path) -> Path:
    """Return the folder or wheel of a release; one named by its number is downloaded once, with pip, into the cache."""
    return Path(name) if Path(name).exists() else _downloaded(name, cache)


@cache
def _opened(path: Path) -> ReleaseSource:
    return release_at(path)


def _parsed(path: Path, module: str) -> Module:
    parsed = _opened(path).find_module(module)
    if parsed is None:
        raise KnowledgeError([f"{path}: module {module} cannot be read"])
    return parsed


def _reader_key(path: Path) -> str:
    """A key that changes with the place of the source and with the code that reads it."""
    code = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("inventory/*.py")))
    return hashlib.sha256(str(path.resolve()).encode() + code).hexdigest()[:12]


def _as_data(path: Path) -> dict[str, Any]:
    names = {module: sorted(defined) for module, defined in _names(path).items()}
    return {"sayings": [asdict(saying) for saying in inventory(path)], "names": names}


def _from_data(number: str, path: Path, data: Mapping[str, Any]) -> Release:
    sayings: dict[str, list[Saying]] = defaultdict(list)
    for fields in data["sayings"]:
        sayings[fields["module"]].append(Saying(**fields))
    return Release(number, sayings, {module: frozenset(names) for module, names in data["names"].items()}, path)


def _downloaded(number: str, cache: Path) -> Path:
    if parse_release(number) is None:
        raise KnowledgeError([f"{number}: neither a file, a folder nor a release number"])
    found = next(iter(cache.glob(f"sglang-{number}-*.whl")), None)
    if found is None:
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache))
        subprocess.run((*pip, f"sglang=={number}"), check=False)  # noqa: S603 - our own interpreter, a checked number
        found = next(iter(cache.glob(f"sglang-{number}-*.whl")), None)
    if found is None:
        raise KnowledgeError([f"{number}: pip could not download it"])
    return found


def number_of(path: Path) -> str:
    """Return the release number of a folder or a wheel; a folder that does not say it is called by its name."""
    if path.suffix == ".whl":
        return path.name.split("-")[1]
    version = path / "sglang" / "_version.py"
    text = version.read_text(encoding="utf-8") if version.exists() else ""
    numbers = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return next((value for value in numbers if isinstance(value, str) and parse_release(value)), path.name)


def _names(path: Path) -> dict[str, frozenset[str]]:
    release = release_at(path)
    modules = (release.find_module(name) for name in release.module_names)
    return {module.name: _defined(module.tree) for module in modules if module is not None}


def _defined(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


def _problems(entry: Entry, release: Release) -> Iterator[str]:
    if not in_range(release.number, entry.versions):
        return
    missing = [name for name in entry.upstream if not _has_symbol(name, release)]
    if len(missing) == len(entry.upstream):
        yield f"{release.number}: no upstream symbol exists there: {', '.join(missing)}"
    elif not any(_says(text, entry, release) for text in entry.templates) and not any(
        _has_site(site, release) for site in entry.sites
    ):
        yield f"{release.number}: none of its templates or sites stands in {_modules_text(entry)}"


def _modules_text(entry: Entry) -> str:
    return ", ".join(sorted({name.partition(":")[0] for name in (*entry.upstream, *(s.upstream for s in entry.sites))}))


def _has_symbol(upstream: str, release: Release) -> bool:
    site = Site(upstream)
    return any(
        not site.function or set(upstream.partition(":")[2].split(".")) <= release.names_by_module[module] | {"*"}
        for module in release.names_by_module
        if fnmatchcase(module, site.module)
    )


def _has_site(site: Site, release: Release) -> bool:
    """Whether the site's line stands in its module, and its function too."""
    if not site.line:
        return _has_symbol(site.upstream, release)
    wanted = "".join(site.line.split())
    modules = (name for name in release.names_by_module if fnmatchcase(name, site.module))
    return any(
        site.function in release.names_by_module[name]
        and any("".join(line.split()).startswith(wanted) for line in release.lines_of(name))
        for name in modules
    )


def _sayings(module_pattern: str, release: Release) -> Iterator[Saying]:
    for module, sayings in release.sayings_by_module.items():
        if fnmatchcase(module, module_pattern):
            yield from sayings


def _says(text: str, entry: Entry, release: Release) -> bool:
    template = Template.parse(text)
    modules = {Site(name).module for name in entry.upstream}
    sayings = (saying for module in modules for saying in _sayings(module, release))
    return any(_covers(template, saying) for saying in sayings) or _stands_as_text(template, modules, release)


def _stands_as_text(template: Template, patterns: Iterable[str], release: Release) -> bool:
    """Whether every literal of a template stands among a module's text constants, whoever says it."""
    pieces = [" ".join(part.split()) for part in template.parts if isinstance(part, str)]
    modules = (name for name in release.names_by_module if any(fnmatchcase(name, pattern) for pattern in patterns))
    return any(all(piece in release.texts_of(name) for piece in pieces) for name in modules)


def _covers(template: Template, saying: Saying) -> bool:
    """Whether one of the two texts is a wording of the other, whatever their values are called."""
    said = _as_template(saying.template) if saying.template else None
    if said is None:
        return False
    sample, said_sample = template.sample(_SAMPLE), said.sample(_SAMPLE)
    return template.match(said_sample) is not None or (said.weight >= _MIN_WEIGHT and said.match(sample) is not None)


def sample_of(saying: Saying) -> str | None:
    """Return a text as a site would say it, with a sample value in each hole; None where it has no literal text."""
    said = _as_template(saying.template) if saying.template else None
    return said.sample(_SAMPLE) if said else None


def _as_template(text: str) -> Template | None:
    """A template of the inventory with plain names; holes side by side are one."""
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(text):
        parts.append(literal.replace("{", "{{").replace("}", "}}"))
        if name is not None and (literal or not parts[:-1] or not parts[-2].endswith("}")):
            parts.append(f"{{hole{len(parts)}:block}}")
    try:
        return Template.parse("".join(parts))
    except TemplateError:
        return None
