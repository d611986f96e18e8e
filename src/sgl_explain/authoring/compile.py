"""Compiling the TOML sources to ``knowledge.jsonl``: one entry a line, sorted by id, shared fixes in place."""

import json
from pathlib import Path

from sgl_explain.entry import entry_to_dict
from sgl_explain.entry_files import read_entries


def compiled(root: Path) -> str:
    """Return the text of ``knowledge.jsonl`` for a folder of entries; raises KnowledgeError with every problem."""
    return "".join(json.dumps(entry_to_dict(entry), ensure_ascii=False) + "\n" for entry in read_entries(root))


def is_fresh(root: Path, target: Path) -> bool:
    """Tell whether the compiled file says what the sources say."""
    return target.exists() and target.read_text(encoding="utf-8") == compiled(root)
