"""Build, once, the environment of a real SGLang release on a CPU: ``python build_env.py 0.5.19 [0.5.23 …]``.

It lives in a cache folder outside the checkout, keyed by its requirements: ``$SGL_EXPLAIN_CACHE`` or
``~/.cache/sgl_explain``. Needs Python 3.11 on x86-64, 2.3 GB a release and about 90 seconds. Prints the folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

RELEASES = ("0.5.19", "0.5.23")
LAB = Path(__file__).resolve().parent / "lab"
CACHE = Path(os.environ.get("SGL_EXPLAIN_CACHE") or Path.home() / ".cache" / "sgl_explain")
# cl100k_base under its cache name; the litellm wheel holds it
TIKTOKEN_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"


def environment(release: str) -> Path:
    """Return the folder of a release's environment, built if it is not there yet.

    Holds ``venv/``, ``models/`` (tiny local models) and ``tiktoken/``. Raises CalledProcessError if a step fails.
    """
    folder = CACHE / "live" / f"{release}-{_key(release)}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _build(release, folder)
        (folder / "complete").touch()
    return folder


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "venv" / "bin" / "python"


def _key(release: str) -> str:
    names = (
        "constraints.txt",
        f"requirements-{release}.txt",
        f"nodeps-{release}.txt",
        "make_models.py",
        "torchvision_shim.py",
    )
    files = (*(LAB / name for name in names), Path(__file__))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _build(release: str, folder: Path) -> None:
    python = python_of(folder)
    _run(_python311(), "-m", "venv", folder / "venv")
    _install(python, "-r", LAB / f"requirements-{release}.txt", "-c", LAB / "constraints.txt")
    _install(python, "--no-deps", "-r", LAB / f"nodeps-{release}.txt")
    _add_torchvision_shim(python)
    _run(python, LAB / "make_models.py", env={**os.environ, "LAB_MODELS": str(folder / "models")})
    _fetch_tiktoken_file(python, folder)


def _install(python: Path, *options: object) -> None:
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options)


def _add_torchvision_shim(python: Path) -> None:
    command = [python, "-c", "import site; print(site.getsitepackages()[0])"]
    site = Path(subprocess.check_output(command, text=True).strip())
    shutil.copy(LAB / "torchvision_shim.py", site / "_torchvision_shim.py")
    (site / "torchvision_shim.pth").write_text("import _torchvision_shim\n")


def _fetch_tiktoken_file(python: Path, folder: Path) -> None:
    _run(python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "wheels", "litellm==1.110.2")
    wheel = next((folder / "wheels").glob("litellm-*.whl"))
    (folder / "tiktoken").mkdir()
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(TIKTOKEN_FILE))
        (folder / "tiktoken" / TIKTOKEN_FILE).write_bytes(archive.read(name))
    shutil.rmtree(folder / "wheels")


def _python311() -> str:
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob("3.11.*/bin/python3.11"))
    found = shutil.which("python3.11") or (str(pyenv[-1]) if pyenv else None)
    if found is None:
        raise SystemExit("the live suite needs Python 3.11 (SGLang's CPU wheels are built for it); none was found")
    return found


def _run(*command: object, **options: object) -> None:
    subprocess.run([str(word) for word in command], check=True, **options)


if __name__ == "__main__":
    for name in sys.argv[1:] or RELEASES:
        print(environment(name), flush=True)
