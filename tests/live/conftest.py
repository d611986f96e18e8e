"""The real SGLang environments, and this checkout's wheel installed for them."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

spec = importlib.util.spec_from_file_location("build_env", HERE / "build_env.py")
build_env = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build_env)

RELEASES = build_env.RELEASES


@dataclass(frozen=True)
class LiveSglang:
    """One real SGLang release with sgl_explain installed beside it."""

    SERVE: ClassVar[str] = (
        "--device cpu --cuda-graph-backend-prefill=disabled --cuda-graph-backend-decode=disabled "
        "--max-total-tokens 4096 --host 127.0.0.1 --port {PORT}"
    )

    release: str
    folder: Path
    installed: Path

    @property
    def is_newest(self):
        """Whether it is the newest release that is tested."""
        return self.release == RELEASES[-1]

    @property
    def python(self) -> Path:
        return build_env.python_of(self.folder)

    def env(self, **extra: str) -> dict[str, str]:
        """The variables of a process that has the package installed, and nothing of the network or of our tests."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTEST", "COV"))}
        return {
            **kept,
            "PYTHONPATH": str(self.installed),
            "PYTHONUNBUFFERED": "1",
            "LAB_MODELS": str(self.folder / "models"),
            "TIKTOKEN_CACHE_DIR": str(self.folder / "tiktoken"),
            "HF_HUB_OFFLINE": "1",
            **extra,
        }

    def filled(self, text: str) -> str:
        """A live case's text with its folders."""
        folders = {
            "{MODELS}": str(self.folder / "models"),
            "{LAB}": str(HERE / "lab"),
            "{TIKTOKEN}": str(self.folder / "tiktoken"),
        }
        for name, folder in folders.items():
            text = text.replace(name, folder)
        return text

    def launch(self, flags: str, **env: str) -> "subprocess.Popen[str]":
        """Start a server in its own process group; what it prints goes to one pipe."""
        words = self.filled(f"--model-path {{MODELS}}/tiny-llama {flags}".replace("{PORT}", str(free_port()))).split()
        return subprocess.Popen(
            [self.python, "-m", "sglang.launch_server", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env(**env), start_new_session=True,
        )  # fmt: skip

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> None:
        """Kill a server with all of its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder that holds this checkout's wheel, installed with its metadata (entry points included)."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--target", str(folder), str(ROOT)], check=True)
    return folder


@pytest.fixture(scope="session", params=RELEASES)
def live(request, installed):
    """The real SGLang, release by release."""
    return LiveSglang(request.param, build_env.environment(request.param), installed)


@pytest.fixture(scope="session")
def server(live):
    """A tiny model, really served on the CPU; gives its base address. Tests in one module share one a release."""
    port = free_port()
    flags = live.SERVE.replace("{PORT}", str(port)) + " --api-key secret-key-1"
    process = live.launch(flags, PYTHONPATH=os.pathsep.join([str(live.installed), str(HERE / "lab" / "stubs")]))
    try:
        for line in process.stdout:
            if "The server is fired up" in line:
                break
        threading.Thread(target=process.stdout.read, daemon=True).start()  # a full pipe would stop the server
        yield f"http://127.0.0.1:{port}"
    finally:
        live.end(process)
