"""``sgl-explain run [--] CMD…``: a command with its output unchanged, and its failures explained as they pass.

Three processes: the command; this one, which passes bytes and signals on and knows nothing else; and a reader, forked
from it, which gets a copy of the output and explains. Whatever happens to the reader, the command never notices.
"""

from sgl_explain.cli.run.command import run_command

__all__ = ["run_command"]
