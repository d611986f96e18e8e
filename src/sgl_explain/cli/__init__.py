"""The command line ``sgl-explain``."""

from sgl_explain.cli.main import main

__all__ = ["main"]
