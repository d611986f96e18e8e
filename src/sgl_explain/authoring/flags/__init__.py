"""Facts about SGLang's server flags, read from the source of its releases: what ``data/flags.jsonl`` holds."""

from sgl_explain.authoring.flags.declared import DeclaredFlag, declared_flags, flags_at
from sgl_explain.authoring.flags.history import flag_lines

__all__ = ["DeclaredFlag", "declared_flags", "flag_lines", "flags_at"]
