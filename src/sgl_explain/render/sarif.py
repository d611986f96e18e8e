"""SARIF 2.1.0, the OASIS format for findings: one document for all logs of a run.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final, Literal
from urllib.parse import quote

from sgl_explain.explanation import Explanation
from sgl_explain.render.plain import short_text
from sgl_explain.render.record import record

Level = Literal["error", "warning", "note"]
Result = tuple[Explanation, Level, int, str]
"""An explanation, how grave it is, how often it came, and the file that it stands in (empty for standard input)."""

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_HOME: Final = "https://pypi.org/project/sgl-explain/"
_FACTS: Final = ("exception", "captures", "phase", "rank", "release", "fixes")


def document(results: Sequence[Result], version: str) -> str:
    """Return the findings as one SARIF document; the rules are the entries that were met."""
    pages = {page.id: page for page, *_ in reversed(results) if page.id}
    rules = sorted(pages)
    tool = {"name": "sgl-explain", "version": version, "informationUri": _HOME}
    run = {
        "tool": {"driver": {**tool, "rules": [_rule(pages[entry_id]) for entry_id in rules]}},
        "columnKind": "utf16CodeUnits",
        "results": [_result(result, rules) for result in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1)


def _rule(page: Explanation) -> dict[str, Any]:
    return {
        "id": page.id,
        "shortDescription": {"text": page.title},
        "help": {"text": f"sgl-explain show {page.id}"},
    }


def _result(result: Result, rules: Sequence[str]) -> dict[str, Any]:
    page, level, times, file = result
    facts = record(page)
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if page.line:
        place["region"] = {"startLine": page.line}
    return {
        "ruleId": page.id,
        "ruleIndex": rules.index(str(page.id)),
        "level": level,
        "message": {"text": short_text(page)},
        "locations": [{"physicalLocation": place}],
        "occurrenceCount": times,
        "properties": {name: facts[name] for name in _FACTS if facts.get(name)},
    }


def _uri(file: str) -> str:
    if not file:
        return "stdin"
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
