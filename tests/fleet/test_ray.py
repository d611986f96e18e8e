"""Errors of Ray tasks and actors are explained in the driver, once, after Ray's own output (a real Ray on one node)."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
# a module of SGLang's name that raises SGLang's text: what matters here is the way the error takes through Ray
SPECULATIVE_HOOK = """
def check(given):
    raise ValueError(
        "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
        f"but got speculative_num_draft_tokens={given}."
    )
"""
TASK = """
    @ray.remote
    def work(given):
        check(given)

    ray.get(work.remote(8))
"""
ACTOR = """
    @ray.remote
    class Engine:
        def start(self, given):
            check(given)

    ray.get(Engine.remote().start.remote(8))
"""
DEAD_ACTOR = """
    @ray.remote
    class Engine:
        def __init__(self, given):
            check(given)

        def ready(self):
            return True

    ray.get(Engine.remote(8).ready.remote())
"""


@pytest.fixture(scope="session")
def python(engines):
    return engines / "bin" / "python"


@pytest.fixture
def run(python, tmp_path):
    """Return a function that runs a Ray program with the explainer installed and gives its exit code and stderr."""
    package = tmp_path / "sglang" / "srt"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text('__version__ = "0.5.19"\n')
    (package / "speculative_hook.py").write_text(SPECULATIVE_HOOK)

    def execute(body):
        program = tmp_path / "program.py"
        head = "import ray, sgl_explain\nfrom sglang.srt.speculative_hook import check\n"
        start = "sgl_explain.install()\nray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)\n"
        program.write_text(head + start + textwrap.dedent(body))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTEST", "COV"))}
        path = os.pathsep.join([str(ROOT / "src"), str(tmp_path)])
        env = {**kept, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        done = subprocess.run([python, program], capture_output=True, text=True, env=env, timeout=300, check=False)
        return done.returncode, done.stderr

    return execute


@pytest.mark.parametrize("body", [TASK, ACTOR, DEAD_ACTOR], ids=["task", "actor", "actor that never started"])
def test_what_a_worker_raised_is_explained_in_the_driver(run, body):
    code, stderr = run(body)
    before, _, explanation = stderr.partition("sgl_explain: ")

    assert (code, re.findall(r"sgl-explain show (\S+)", stderr)) == (1, [DSPARK_ID])
    assert "ray.exceptions" in before
    assert "gamma = 4" in " ".join(explanation.split())
