"""What `run` says, when, and that it says it once."""

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

PY = sys.executable
FAIL = "from sglang.srt.arg_groups.speculative_hook import _handle_dspark; _handle_dspark()"
LOGGED = "[2025-08-08 09:09:09] Received sigquit from a child process. It usually means the child failed."
SRC = str(Path(__file__).resolve().parents[3] / "src")
TITLE = b"sgl_explain: DSpark: the draft-token count does not fit the block size"


@pytest.fixture
def beside_sglang(program, tmp_path, running):
    """Return a function that runs Python code beside the failing sglang package of the tests, under `run`."""
    program("pass")

    def run(code, *, python=PY, options=(), **env):
        script = tmp_path / "under_run.py"
        script.write_text(code)
        path = env.pop("PYTHONPATH", "")
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTHON", "COV"))},
            "PYTHONPATH": os.pathsep.join(filter(None, [path, SRC, str(tmp_path)])), **env,
        }  # fmt: skip
        process = running([*options, python, str(script)], env=variables)
        out, errors = process.communicate(timeout=120)
        return subprocess.CompletedProcess(code, process.returncode, out, errors)

    return run


def test_a_python_child_explains_itself_and_is_not_explained_again(beside_sglang):
    done = beside_sglang(FAIL)

    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1


def test_a_python_without_what_explaining_needs_is_explained_by_its_output(beside_sglang, tmp_path):
    venv.create(tmp_path / "bare", symlinks=True)
    done = beside_sglang(FAIL, python=str(tmp_path / "bare/bin/python"))

    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1


def test_a_python_that_ignores_its_environment_is_explained_by_its_output(beside_sglang, tmp_path):
    code = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-I', '-c', {_isolated(tmp_path)!r}]))"
    done = beside_sglang(code)

    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1


def _isolated(folder):
    return f"import sys; sys.path.insert(0, {str(folder)!r}); {FAIL}"


def test_the_traceback_is_the_one_without_us(beside_sglang, program, tmp_path):
    done = beside_sglang(FAIL)
    plain = program(FAIL).stderr.replace("program.py", "under_run.py")

    assert done.stderr.decode().startswith(plain)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_are_explained_once(beside_sglang, method):
    code = (
        "import multiprocessing\n"
        f"def work():\n    {FAIL}\n"
        "if __name__ == '__main__':\n"
        f"    child = multiprocessing.get_context({method!r}).Process(target=work)\n"
        "    child.start(); child.join(); raise SystemExit(child.exitcode)\n"
    )
    done = beside_sglang(code)

    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1


def test_a_sitecustomize_of_the_users_own_still_runs(beside_sglang, tmp_path):
    (tmp_path / "own").mkdir()
    own = "import sys; sys.times = getattr(sys, 'times', 0) + 1; NAME = 'own'\n"
    (tmp_path / "own/sitecustomize.py").write_text(own)
    code = f"import sys, sitecustomize; print(sitecustomize.NAME, sys.times, 'startup' in ''.join(sys.path))\n{FAIL}"
    done = beside_sglang(code, PYTHONPATH=str(tmp_path / "own"))

    assert done.stdout == b"own 1 False\n"
    assert done.stderr.count(TITLE) == 1


def test_a_program_without_sglang_is_not_touched(beside_sglang):
    code = "import sys; print(sorted(name for name in sys.modules if 'sgl' in name or name == 'wrapt'), sys.excepthook)"
    done = beside_sglang(code)

    assert done.stdout == b"[] <built-in function excepthook>\n"


def test_switched_off_it_says_nothing(beside_sglang):
    done = beside_sglang(FAIL, SGLANG_EXPLAIN="0")

    assert b"sgl_explain" not in done.stderr
    assert done.returncode == 1


def test_a_failure_is_explained_while_the_command_lives_on(running, tmp_path):
    log = f"echo '{LOGGED}' >&2; echo 'launch_server.py: error: unrecognized arguments: --tensor-parallel 2' >&2; cat"
    process = running(["sh", "-c", f"{log} # sglang"], stdin=-1)
    seen = b""
    until = time.monotonic() + 120
    while b"has no such flag" not in seen and time.monotonic() < until:
        seen += os.read(process.stderr.fileno(), 4096)

    assert b"sgl_explain: The installed SGLang has no such flag" in seen
    assert process.poll() is None


def test_the_end_names_the_cause_and_counts_what_followed(run_piped):
    lines = ["sglang 0.5.19", "ModuleNotFoundError: No module named 'vllm'", LOGGED, LOGGED]
    done = run_piped(["sh", "-c", "".join(f'echo "{line}" >&2; ' for line in lines) + "kill -9 $$"])
    told = done.stderr.decode()

    assert "the command ended with exit status 137 (SIGKILL)" in told
    assert "Root cause: No module named 'vllm'" in told.replace("\n  ", " ")
    assert "command-killed" in told.rpartition("Consequences, not causes (3)")[2]
    assert told.count("sgl_explain: ") == 1


def test_a_silent_death_is_decided_by_the_machines_facts(run_piped):
    told = run_piped(["sh", "-c", "kill -9 $$"]).stderr.decode()

    assert told.startswith("sgl_explain: The command was killed (SIGKILL)\n")
    assert "has killed nothing for memory here" in told.replace("\n", " ").replace("  ", " ")


def test_facts_of_this_machine_say_nothing_about_a_container(run_piped, tmp_path):
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\nexit 137\n")
    docker.chmod(0o755)
    told = run_piped([str(docker), "run", "image"]).stderr.decode()

    assert "  If:   memory.events counts an oom_kill" in told
    assert "(0 kills)" not in told


def test_a_child_of_sglang_that_was_killed_is_told_with_the_facts(run_piped):
    line = "Subprocess scheduler_0 (pid=312) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
    told = run_piped(["sh", "-c", f"echo 'sglang: {line}' >&2; echo '{LOGGED}' >&2; kill -9 $$"]).stderr.decode()

    assert told.count("sgl_explain: ") == 1
    assert "Somebody killed the process outright" in told
    assert "Root cause: A child process crashed while the server was running" in told.replace("\n  ", " ")


def test_json_is_one_object_a_line(running):
    process = subprocess.run(
        [PY, "-m", "sgl_explain", "run", "--json", "sh", "-c", "kill -11 $$"], capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": SRC}, timeout=120,
    )  # fmt: skip

    assert [json.loads(line)["id"] for line in process.stderr.splitlines()] == ["command-crashed-in-native-code"]


def test_a_command_that_fails_for_reasons_of_its_own_is_left_alone(run_piped):
    assert run_piped(["sh", "-c", "echo ValueError: mine >&2; exit 1"]).stderr == b"ValueError: mine\n"


def test_an_explanation_never_stands_within_a_line(run_piped):
    script = "printf 'Killed at 45 %%' >&2; kill -9 $$"

    assert run_piped(["sh", "-c", script]).stderr.startswith(b"Killed at 45 %\nsgl_explain: The command was killed")
