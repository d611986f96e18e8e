"""Shared by the tests: a program to run, in which something named sglang fails as SGLang does."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"

DSPARK = (
    "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
    "but got speculative_num_draft_tokens=8."
)
DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"

# The shape of a module of SGLang, not its behaviour: the live suite has that.
_FAILING_MODULE = f"""
import argparse
import logging
import traceback
import warnings

def _handle_dspark():
    raise ValueError({DSPARK!r})

def swallow_into_a_warning():
    try:
        _handle_dspark()
    except Exception:
        warnings.warn("Error in stream_executor: " + traceback.format_exc())

def log_as_text():
    try:
        _handle_dspark()
    except Exception:
        logger = logging.getLogger("sglang.srt.managers.scheduler")
        logger.error(f"Scheduler hit an exception: {{traceback.format_exc()}}")

def parse(argv):
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--tp-size", type=int)
    parser.parse_args(argv)
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(tmp_path: Path) -> Run:
    """Return a function that runs Python code beside the failing sglang package; options become variables."""
    package = tmp_path / "sglang" / "srt" / "arg_groups"
    package.mkdir(parents=True)
    (tmp_path / "sglang" / "__init__.py").write_text('__version__ = "0.5.19"\n')
    (package / "speculative_hook.py").write_text(_FAILING_MODULE)

    def run(code: str, **env: str) -> "subprocess.CompletedProcess[str]":
        script = tmp_path / "program.py"
        script.write_text(code)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTHON", "COV"))}
        variables = {**kept, "PYTHONPATH": os.pathsep.join([str(SRC), str(tmp_path)]), **env}
        return subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, env=variables, check=False, timeout=60
        )

    return run
