"""The source of SGLang releases: what each can say, and the names it defines; read once, kept in a cache folder."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final

from sgl_explain.authoring.inventory import Saying, inventory
from sgl_explain.authoring.inventory.source import Module, release_at
from sgl_explain.authoring.inventory.source import Release as ReleaseSource
from sgl_explain.errors import KnowledgeError, TemplateError
from sgl_explain.release import parse_release
from sgl_explain.template import Template

SAMPLE: Final = "7"  # fits every kind of placeholder
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


def sample_of(saying: Saying) -> str | None:
    """Return a text as a site would say it, with a sample value in each hole; None where it has no literal text."""
    said = as_template(saying.template) if saying.template else None
    return said.sample(SAMPLE) if said else None


def as_template(text: str) -> Template | None:
    """Return a template of the inventory with plain names; holes side by side are one."""
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(text):
        parts.append(literal.replace("{", "{{").replace("}", "}}"))
        if name is not None and (literal or not parts[:-1] or not parts[-2].endswith("}")):
            parts.append(f"{{hole{len(parts)}:block}}")
    try:
        return Template.parse("".join(parts))
    except TemplateError:
        return None
