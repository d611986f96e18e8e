"""Facts about SGLang's server flags, read from the source of its releases: what ``data/flags.jsonl`` holds."""

from sgl_explain.authoring.flags.declared import DeclaredFlag
from sgl_explain.authoring.flags.history import ReleaseFlags, flag_lines, release_flags
from sgl_explain.authoring.flags.successors import successors_by_hand

__all__ = ["DeclaredFlag", "ReleaseFlags", "flag_lines", "release_flags", "successors_by_hand"]
