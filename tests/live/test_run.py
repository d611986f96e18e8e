"""`sgl-explain run` around the real server, killed in four ways, and around releases that have no plugins."""

import contextlib
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sgl_explain.authoring.source import located

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STUBS = HERE / "lab" / "stubs"
SERVE = (
    "--device cpu --cuda-graph-backend-prefill=disabled --cuda-graph-backend-decode=disabled --max-total-tokens 4096 "
    "--host 127.0.0.1 --port {PORT}"
)  # fmt: skip
LONG_S = 300

spec = importlib.util.spec_from_file_location("build_env", HERE / "build_env.py")
build_env = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build_env)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def under_run(live):
    """Return a function that starts a server under `run`, in its own session; both streams go to one pipe."""
    started = []

    def start(flags, *, before="", path=()):
        words = live.filled(f"--model-path {{MODELS}}/tiny-llama {SERVE} {flags}".replace("{PORT}", str(free_port())))
        run = f"{sys.executable} -m sgl_explain run -- {live.python} -m sglang.launch_server {words}"
        python_path = os.pathsep.join(map(str, (live.installed, *path)))
        process = subprocess.Popen(
            ["sh", "-c", f"{before} exec {run}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=live.env(PYTHONPATH=python_path), start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def told(text):
    """What a reader is told, with its line breaks folded."""
    return re.sub(r"\n\s+", " ", text)


def root_cause(text):
    return re.search(r"Root cause: .*?\((?P<id>[a-z0-9-]+)\)", told(text))["id"]


def test_a_bad_flag(under_run):
    process = under_run("--max-model-len 4096")
    text, _ = process.communicate(timeout=LONG_S)

    assert process.returncode == 2
    assert text.count("sgl_explain: ") == 1
    assert "sgl-explain show cli-unrecognized-arguments" in text


def test_a_missing_module_in_the_child(under_run):
    process = under_run("")
    text, _ = process.communicate(timeout=LONG_S)

    assert process.returncode == 128 + signal.SIGKILL
    assert text.count("sgl_explain: ") == 1
    assert root_cause(text) == "cpu-engine-off-vllm-missing"
    assert "(child-process-failed-sigquit)" in told(text).partition("Consequences, not causes")[2]


def schedulers_in(session):
    """Process ids of the scheduler processes of a session."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ProcessLookupError):
            if b"sglang::scheduler" in (folder / "cmdline").read_bytes() and os.getsid(int(folder.name)) == session:
                yield int(folder.name)


def test_a_scheduler_that_is_killed(under_run):
    process = under_run("", path=[STUBS])
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "The server is fired up" in line:
            break
    (scheduler,) = schedulers_in(process.pid)
    os.kill(scheduler, signal.SIGKILL)
    rest, _ = process.communicate(timeout=LONG_S)
    text = "".join(lines) + rest

    assert root_cause(text) == "subprocess-crashed-while-serving"
    assert text.count("sgl_explain: ") == 1
    assert "Somebody killed the process outright" in told(text)
    assert process.returncode == 128 + signal.SIGKILL


def test_memory_that_is_refused(under_run):
    process = under_run("--max-total-tokens 20000000", before="ulimit -v 6000000;", path=[STUBS])
    text, _ = process.communicate(timeout=LONG_S)

    assert root_cause(text) == "host-memory-exhausted"
    assert text.count("sgl_explain: ") == 1
    assert process.returncode == 128 + signal.SIGKILL


TORCH_KILLED = """
import os, signal
import torch.multiprocessing

def work(index):
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    import sglang
    torch.multiprocessing.spawn(work, nprocs=1)
"""


def run_program(live, tmp_path, code):
    (tmp_path / "program.py").write_text(code)
    return subprocess.run(
        [sys.executable, "-m", "sgl_explain", "run", "--", live.python, tmp_path / "program.py"],
        capture_output=True, text=True, env=live.env(), check=False, timeout=LONG_S,
    )  # fmt: skip


def test_a_process_of_torch_multiprocessing_that_is_killed(live, tmp_path):
    done = run_program(live, tmp_path, TORCH_KILLED)

    assert done.returncode == 1
    assert done.stderr.count("sgl_explain: ") == 1
    assert "sgl-explain show torch-spawned-process-ended" in done.stderr


@pytest.fixture(scope="session", params=["0.4.6.post5", "0.5.10"])
def without_plugins(request, tmp_path_factory):
    """A release from before plugins, unpacked: its folder and the command that makes it read its arguments."""
    wheel = located(request.param, build_env.CACHE / "releases")
    folder = tmp_path_factory.mktemp("old")
    zipfile.ZipFile(wheel).extractall(folder)
    if request.param == "0.5.10":
        return folder, ["-m", "sglang.launch_server"]
    # its imports want packages that need a GPU
    (folder / "program.py").write_text(
        "import sys, automock\nfrom sglang.srt.server_args import prepare_server_args\n"
        "prepare_server_args(sys.argv[1:])\n"
    )
    return folder, [str(folder / "program.py")]


@pytest.mark.parametrize("live", ["0.5.19"], indirect=True)
def test_a_release_without_plugins_explains_itself_under_run(live, without_plugins):
    folder, launch = without_plugins
    startup = ROOT / "src/sgl_explain/integrations/startup"
    words = [live.python, *launch, *live.filled("--model-path {MODELS}/tiny-llama --max-model-len 4096").split()]
    # sgl_explain is not installed there: the child finds it through what `run` puts on its path
    path = os.pathsep.join(map(str, (folder, HERE / "lab")))
    env = live.env(AUTOMOCK="sgl_kernel,triton,vllm", PYTHONPATH=path)
    ours = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); from sgl_explain.cli import main; sys.exit(main())"
    under_run = [sys.executable, "-c", ours, "run", "--", *words]
    done = subprocess.run(under_run, capture_output=True, text=True, env=env, check=False, timeout=LONG_S)
    alone = {**env, "PYTHONPATH": os.pathsep.join([str(startup), path])}
    child = subprocess.run(words, capture_output=True, text=True, env=alone, check=False, timeout=LONG_S)

    assert done.returncode == 2
    for stderr in (done.stderr, child.stderr):
        assert stderr.count("sgl_explain: ") == 1
        assert "--max-model-len is --context-length here" in told(stderr)
