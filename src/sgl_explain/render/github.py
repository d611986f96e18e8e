"""GitHub annotations: workflow commands that a job prints, shown at a run's summary and beside the file.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from typing import Final, Literal

from sgl_explain.explanation import Explanation
from sgl_explain.render.plain import short_text

Level = Literal["error", "warning", "notice"]

_IN_TEXT: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = {**_IN_TEXT, **str.maketrans({":": "%3A", ",": "%2C"})}


def annotation(explanation: Explanation, level: Level, file: str = "") -> str:
    """Return the workflow command, one line, that shows an explanation where it stands in a log file."""
    named = {"file": file, "line": str(explanation.line or "") if file else "", "title": explanation.title}
    properties = ",".join(f"{name}={value.translate(_IN_PROPERTY)}" for name, value in named.items() if value)
    return f"::{level} {properties}::{short_text(explanation).translate(_IN_TEXT)}"
