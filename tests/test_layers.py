"""Imports point one way, down the ranks of the design; importing the package costs nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"
PACKAGE = SRC / "sgl_explain"
RANK = {
    "errors": 0,
    "release": 0,
    "template": 1,
    "machine": 1,
    "redact": 1,
    "secret_names": 1,
    "secret_shapes": 1,
    "secret_values": 1,
    "spelling": 1,
    "mending": 1,
    "http_body": 1,
    "http_client": 1,
    "evidence": 1,
    "entry": 2,
    "entry_files": 2,
    "log_stream": 2,
    "environment": 2,
    "flags": 2,
    "flag_history": 2,
    "knowledge_base": 3,
    "remote_traceback": 3,
    "matching": 4,
    "command_words": 5,
    "command": 5,
    "argument_facts": 5,
    "choosing": 5,
    "wording": 5,
    "fixing": 5,
    "explanation": 5,
    "diagnosis": 5,
    "findings": 5,
    "render": 6,
    "integrations": 7,
    "cli": 7,
    "authoring": 7,
    "__main__": 8,
    "__init__": 8,
}
THIRD_PARTIES = ("rapidfuzz", "wrapt", "importlib_resources", "rich")


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def top_part(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_its_rank_and_below(file: Path):
    own = top_part(file)
    # renderers are reached from an explanation's own methods, at call time
    allowed = {"render"} if own == "explanation" else set()
    ours = {part_of(name) for name in imports_of(file) if name.partition(".")[0] == "sgl_explain"} - {"__init__"}

    assert {part for part in ours - allowed if RANK[part] > RANK[own]} == set()


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_nobody_imports_the_edge(file: Path):
    own = top_part(file)
    edge = {"integrations", "cli", "authoring"} - {own}
    reached = {part_of(name) for name in imports_of(file) if name.startswith("sgl_explain.")}

    assert own in ("__init__", "__main__") or not reached & edge


def test_only_the_terminal_renderer_imports_rich():
    users = {file.name for file in MODULES if any(name.partition(".")[0] == "rich" for name in imports_of(file))}

    assert users == {"terminal.py"}


def loaded_by(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {script}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_but_itself():
    assert loaded_by("import sgl_explain") == {"sgl_explain"}


def test_install_loads_wrapt_and_no_other_third_party():
    loaded = {name.partition(".")[0] for name in loaded_by("import sgl_explain; sgl_explain.install()")}

    assert loaded & set(THIRD_PARTIES) == {"wrapt"}


def test_install_loads_no_knowledge():
    assert "sgl_explain.knowledge_base" not in loaded_by("import sgl_explain; sgl_explain.install()")


def test_the_public_names_are_there():
    import sgl_explain

    assert {name for name in sgl_explain.__all__ if getattr(sgl_explain, name, None) is None} == set()


def test_the_knowledge_function_is_callable_whatever_was_imported_before():
    import sgl_explain

    sgl_explain.diagnose("x")

    assert len(sgl_explain.knowledge()) > 100
