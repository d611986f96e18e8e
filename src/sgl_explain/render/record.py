"""The versioned JSON record of an explanation: one object, plain data, for programs and coding agents."""

import json
from dataclasses import asdict
from typing import Any, Final

from sgl_explain.explanation import Explanation

SCHEMA: Final = 1
"""Grows when a key is removed or changes its meaning; new keys do not change it."""

_ALWAYS: Final = (
    "id", "title", "confidence", "exception", "message", "captures", "meaning", "fixes", "nearest", "line",
)  # fmt: skip


def record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data.

    Always there: schema, id (null when nothing accounts for the message), title, confidence, exception, message,
    captures, meaning, fixes, nearest, line. The rest is left out where it is empty.
    """
    data = asdict(explanation)
    data["fixes"] = [{key: value for key, value in fix.items() if value} for fix in data["fixes"]]
    data["causes"] = [{key: value for key, value in cause.items() if value} for cause in data["causes"]]
    for name in ("example", "prevention"):
        (data[name] or {}).pop("needs", None)  # is of our tests
    kept = {key: value for key, value in data.items() if key in _ALWAYS or value not in (None, "", (), [], {}, False)}
    if explanation.id is None and not explanation.nearest:
        kept["confidence"] = None
    return {"schema": SCHEMA, **kept}


def json_line(explanation: Explanation) -> str:
    """Return the record as one line of JSON."""
    return json.dumps(record(explanation), ensure_ascii=False)
