"""Notebooks in a real kernel: traceback first, then HTML and text in one output; everything restored on unload."""

import json
import os
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

SRC = Path(__file__).resolve().parents[2] / "src"
DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
MESSAGE = (
    "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
    "but got speculative_num_draft_tokens=8."
)
# one statement a line: of two, stack_data takes the scope of either, by the order of a set of addresses
SGLANG = f"""
import sys, types
module = types.ModuleType("sglang"); module.__version__ = "0.5.19"; sys.modules["sglang"] = module
def fail():
    raise ValueError({MESSAGE!r})
"""

# Jupyter's own packages warn of their deprecations
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that executes cells in a fresh kernel and gives back each cell's outputs."""
    folder = tmp_path / "kernels" / "tested"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    env = {"PYTHONPATH": os.pathsep.join([str(SRC)]), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    kernel = {"argv": argv, "display_name": "tested", "language": "python", "env": env}
    (folder / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setattr(KernelSpecManager, "kernel_dirs", [str(tmp_path / "kernels")])

    def execute(*cells):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(notebook, timeout=60, kernel_name="tested", allow_errors=True)
        client.execute()
        return [cell.outputs for cell in notebook.cells]

    return execute


def shown(outputs):
    """The explanations among a cell's outputs, each as its mapping of forms."""
    return [
        dict(output.data) for output in outputs
        if output.output_type == "display_data" and "sgl_explain: " in output.data.get("text/plain", "")
    ]  # fmt: skip


def kinds(outputs):
    return [output.output_type for output in outputs]


@pytest.mark.parametrize("install", ["%load_ext sgl_explain", "import sgl_explain; sgl_explain.install();"])
def test_the_explanation_follows_the_traceback_in_both_forms(run, install):
    outputs = run(install, SGLANG, "fail()")[-1]

    assert kinds(outputs) == ["error", "display_data"]
    assert outputs[0].evalue == MESSAGE
    assert shown(outputs)[0].keys() == {"text/plain", "text/html"}
    assert DSPARK_ID in shown(outputs)[0]["text/html"]


def test_the_same_error_in_the_next_cell_is_explained_again(run):
    *_, first, second = run("%load_ext sgl_explain", SGLANG, "fail()", "fail()")

    assert (len(shown(first)), len(shown(second))) == (1, 1)


def test_the_traceback_is_the_one_of_a_kernel_without_the_extension(run):
    plain = run("pass", SGLANG, "fail()")[-1][0]
    explained = run("%load_ext sgl_explain", SGLANG, "fail()")[-1][0]

    assert explained.traceback == plain.traceback


def test_run_of_a_script_is_explained(run, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SGLANG + "fail()\n")
    outputs = run("%load_ext sgl_explain", f"%run {script}")[-1]

    assert len(shown(outputs)) == 1


def test_the_magic_shows_the_whole_page(run):
    *_, outputs = run("%load_ext sgl_explain", SGLANG, "fail()", "%explain")

    assert "Prevent:" in outputs[0].data["text/plain"]


def test_the_magic_says_so_when_nothing_has_failed(run):
    outputs = run("%load_ext sgl_explain", "%explain")[-1]

    assert outputs[0].text == "No error has happened yet in this session.\n"


def test_unload_restores_everything(run):
    check = (
        "import sys, threading; shell = get_ipython()\n"
        "print('showtraceback' in vars(shell), 'showsyntaxerror' in vars(shell), "
        "'explain' in shell.magics_manager.magics['line'])"
    )
    *_, before, _, during, _, after, failed = run(
        SGLANG, check, "%load_ext sgl_explain", check, "%unload_ext sgl_explain", check, "fail()"
    )

    assert during[0].text == "True True True\n"
    assert after[0].text == before[0].text == "False False False\n"
    assert kinds(failed) == ["error"]


def test_an_error_that_has_nothing_to_do_with_sglang_is_left_alone(run):
    outputs = run("%load_ext sgl_explain", "{}['lm_head.weight']")[-1]

    assert kinds(outputs) == ["error"]


def test_a_syntax_error_is_shown_as_ever(run):
    outputs = run("%load_ext sgl_explain", "def broken(:")[-1]

    assert (kinds(outputs), outputs[0].ename) == (["error"], "SyntaxError")


def test_a_broken_explainer_leaves_the_traceback(run):
    broken = "import sgl_explain.explanation as m\ndef explained(*a): raise SystemExit(9)\nm.explained = explained"
    outputs = run("%load_ext sgl_explain", SGLANG, broken, "fail()", "print('alive')")

    assert kinds(outputs[-2]) == ["error"]
    assert outputs[-1][0].text == "alive\n"
