"""The modules of an SGLang release, read from a folder or a wheel and parsed on demand."""

from __future__ import annotations

import ast
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_MAX_PARSED_MODULES = 60  # a syntax tree weighs some twenty times its source

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.expr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that stands for a module, or for something in one."""

    module: str
    name: str | None


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed module with what its top level defines."""

    name: str
    tree: ast.Module
    lines: tuple[str, ...]
    find_module: Callable[[str], Module | None]
    is_package: bool = False
    definitions: dict[str, tuple[Definition | Imported, ...]] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)

    def line(self, lineno: int) -> str:
        """Return a source line, counted from 1, without the white space around it."""
        return self.lines[lineno - 1].strip() if 0 < lineno <= len(self.lines) else ""


@dataclass(frozen=True, eq=False)
class Release:
    """The modules of one release by name, and a way to their source."""

    module_names: tuple[str, ...]
    find_module: Callable[[str], Module | None]


def release_at(source: Path) -> Release:
    """Return the release in an unpacked folder (one that contains ``sglang/``) or in a wheel.

    Raises ValueError if it is neither.
    """
    if source.is_dir() and (source / "sglang" / "__init__.py").is_file():
        return _release(_folder_files(source))
    if source.is_file() and zipfile.is_zipfile(source):
        files = _wheel_files(zipfile.ZipFile(source))
        if files:
            return _release(files)
    raise ValueError(f"{source}: neither a folder that contains sglang/__init__.py nor a wheel with sglang/ in it")


def _folder_files(folder: Path) -> dict[str, Callable[[], bytes]]:
    paths = sorted((folder / "sglang").rglob("*.py"))
    return {path.relative_to(folder).as_posix(): path.read_bytes for path in paths}


def _wheel_files(wheel: zipfile.ZipFile) -> dict[str, Callable[[], bytes]]:
    names = sorted(name for name in wheel.namelist() if name.startswith("sglang/") and name.endswith(".py"))
    return {name: lambda name=name: wheel.read(name) for name in names}  # type: ignore[misc]  # mypy: lambda default


def _release(reader_by_path: Mapping[str, Callable[[], bytes]]) -> Release:
    path_by_name = {name: path for path in reader_by_path if (name := _module_name(path))}

    @lru_cache(maxsize=_MAX_PARSED_MODULES)
    def find_module(name: str) -> Module | None:
        path = path_by_name.get(name)
        return _parsed(name, path, reader_by_path[path](), find_module) if path else None

    return Release(tuple(path_by_name), find_module)


def _module_name(path: str) -> str | None:
    """Return the dotted name, or None for a file that cannot be imported (``.hidden/x.py``, ``0-example.py``)."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if all(part.isidentifier() for part in parts) else None


def _parsed(name: str, path: str, content: bytes, find_module: Callable[[str], Module | None]) -> Module | None:
    """Return the module, or None if this Python cannot parse it: newer syntax than ours."""
    text = content.decode("utf-8-sig", errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in SGLang's strings are not our caller's business
            tree = ast.parse(text)
    except SyntaxError:
        return None
    lines = tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    module = Module(name, tree, lines, find_module, path.endswith("/__init__.py"))
    _index(module)
    return module


def _index(module: Module) -> None:
    for statement in _top_level(module.tree.body):
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            module.star_imports.append(absolute(statement, module))
        for name, definition in defined_by(statement, module):
            module.definitions[name] = (*module.definitions.get(name, ()), definition)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, and those under its ``if`` and ``try``."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _top_level(statement.body)
            yield from _top_level(getattr(statement, "orelse", []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)


def defined_by(statement: ast.stmt, module: Module) -> Iterator[tuple[str, Definition | Imported]]:
    """Yield the names a single statement of a module or class body defines, each with its definition."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, statement
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.ImportFrom(names=aliases):
            origin = absolute(statement, module)
            yield from ((alias.asname or alias.name, Imported(origin, alias.name)) for alias in aliases)
        case ast.Import(names=aliases):
            yield from ((alias.asname, Imported(alias.name, None)) for alias in aliases if alias.asname)


def absolute(statement: ast.ImportFrom, module: Module) -> str:
    """Return the dotted name of the module that a ``from`` import names, relative ones resolved."""
    if not statement.level:
        return statement.module or ""
    parents = module.name.split(".")
    kept = len(parents) - statement.level + module.is_package
    return ".".join([*parents[:kept], *([statement.module] if statement.module else [])])
