"""The environment in which Python children of the command explain themselves."""

import os
from pathlib import Path

import sgl_explain


def environment_of_children() -> dict[str, str]:
    """Return our environment with the folder of our ``sitecustomize`` first among Python's search paths.

    Nothing is written anywhere: a Python that starts without site or without environment variables (``-S``, ``-E``,
    ``-I``), or elsewhere (docker, ssh), starts as it always did.
    """
    folder = str(Path(sgl_explain.__file__).parent / "integrations" / "startup")
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
