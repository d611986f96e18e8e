"""The real SGLang environments, and this checkout's wheel installed for them."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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

    release: str
    folder: Path
    installed: Path

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
