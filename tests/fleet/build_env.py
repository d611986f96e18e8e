"""Build, once, the environment of the fleet engines (Ray, Spark, a Java): ``python build_env.py``; prints its folder.

It lives where the live environments do, ``$SGL_EXPLAIN_CACHE`` or ``~/.cache/sgl_explain``, keyed by its requirements.
Needs 1.2 GB and about two minutes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "requirements.txt"
CACHE = Path(os.environ.get("SGL_EXPLAIN_CACHE") or Path.home() / ".cache" / "sgl_explain")


def environment() -> Path:
    """Return the folder of the environment, built if it is not there yet; raises CalledProcessError if a step fails."""
    folder = CACHE / "fleet" / hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*install, "-r", str(REQUIREMENTS)], check=True)
        (folder / "complete").touch()
    return folder


if __name__ == "__main__":
    print(environment(), flush=True)
