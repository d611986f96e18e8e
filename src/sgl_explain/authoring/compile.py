"""Compiling the TOML sources to ``knowledge.jsonl``: one entry a line, sorted by id, without tests and live cases."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from sgl_explain.entry import Entry, entry_to_dict
from sgl_explain.entry_files import read_entries


def compiled(root: Path) -> str:
    """Return the text of ``knowledge.jsonl`` for a folder of entries; raises KnowledgeError with every problem."""
    return "".join(json.dumps(_shipped(entry), ensure_ascii=False) + "\n" for entry in read_entries(root))


def _shipped(entry: Entry) -> dict[str, Any]:
    """An entry without what only its authors need."""
    return entry_to_dict(replace(entry, tests=(), live=()))


def is_fresh(root: Path, target: Path) -> bool:
    """Tell whether the compiled file says what the sources say."""
    return target.exists() and target.read_text(encoding="utf-8") == compiled(root)
