"""Every Python text of every entry runs on the real SGLang, unless it takes what only the reader has."""

import ast
import builtins
import json
import subprocess
from pathlib import Path

import pytest

from sgl_explain.entry import template_of
from sgl_explain.entry_files import read_entries
from sgl_explain.release import in_range

HERE = Path(__file__).resolve().parent
ENTRIES = HERE.parent.parent / "src" / "sgl_explain" / "data" / "entries"


def _texts(entry):
    """The Python texts of an entry by place, with what the table around them needs."""
    if entry.example.language == "python":
        yield "example", entry.example.after, entry.example.needs
    for name in ("validate", "guard", "catch"):
        yield name, getattr(entry.prevention, name), entry.prevention.needs
    captures = entry.tests[0].captures
    for number, fix in enumerate(entry.fixes, start=1):
        template = template_of(fix.code) if fix.code else None
        yield (
            f"fix {number}",
            template.fill(dict.fromkeys(template.names, "1") | captures) if template else "",
            fix.needs,
        )


def _takes_readers_names(text):
    tree = ast.parse(text)
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return bool(loaded - _bound(tree) - set(dir(builtins)))


def _bound(tree):
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound.update((alias.asname or alias.name).partition(".")[0] for alias in names)
    return bound


RUNNABLE = {
    f"{entry.id}/{place}": (text, entry.versions)
    for entry in read_entries(ENTRIES)
    for place, text, needs in _texts(entry)
    if text and not needs and not _takes_readers_names(text)
}


@pytest.fixture(scope="session")
def ran(live, tmp_path_factory):
    """What came of each text, run in a folder of its own, by name."""
    lines = [
        json.dumps({"name": name, "fixed_code": text})
        for name, (text, versions) in RUNNABLE.items()
        if in_range(live.release, versions)
    ]
    done = subprocess.run(
        [live.python, HERE / "run_cases.py"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=live.env(),
        cwd=tmp_path_factory.mktemp("examples"),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {outcome["name"]: outcome["fixed"] for outcome in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_python_text_runs(name, ran, live):
    text, versions = RUNNABLE[name]
    if not in_range(live.release, versions):
        pytest.skip(f"is for sglang {versions}")

    assert ran[name]["exit"] == 0, f"{text}\n{ran[name]['stderr'][-2000:]}"
