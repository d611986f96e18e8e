"""The explanation as a PEP 678 note: what an exception carries when the user asked for it with ``explain()``."""

from sgl_explain.explanation import Explanation
from sgl_explain.render.layout import FIRST_LINE
from sgl_explain.render.plain import short_text


def note(explanation: Explanation) -> str:
    """Return the short form as a note."""
    return short_text(explanation)


def is_note(text: object) -> bool:
    """Tell whether a note is one of ours; surfaces that meet one do not explain again."""
    return isinstance(text, str) and text.startswith(FIRST_LINE)
