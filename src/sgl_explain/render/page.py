"""The HTML form, for notebooks. Every text is escaped in one place; no script, no outside resource."""

from collections.abc import Iterable
from html import escape
from typing import Final

from sgl_explain.explanation import Explanation
from sgl_explain.render.layout import Block, full_form, report_url, short_form

_STYLE: Final = (
    "border-left:4px solid #d9a400;padding:.4em .9em;margin:.4em 0;font-family:var(--jp-ui-font-family,sans-serif);"
    "font-size:.92em;line-height:1.45;max-width:60em"
)
_CODE_STYLE: Final = "margin:.2em 0 .5em 1.2em;white-space:pre-wrap;font-family:var(--jp-code-font-family,monospace)"


def short_html(explanation: Explanation) -> str:
    """Return the short form as one HTML element."""
    return _element(short_form(explanation))


def full_html(explanation: Explanation) -> str:
    """Return the whole page as one HTML element."""
    return _element(full_form(explanation))


def _element(blocks: Iterable[Block]) -> str:
    return f'<div class="sgl-explain" style="{_STYLE}">' + "".join(_tag(block) for block in blocks) + "</div>"


def _tag(block: Block) -> str:
    text = escape(block.text)
    label = f"<b>{escape(block.label)}:</b> " if block.label else ""
    match block.role:
        case "title":
            return f"<div><b>{text}</b></div>"
        case "code":
            return f'{label}<pre style="{_CODE_STYLE}"><code>{text}</code></pre>'
        case "hint":
            return f"<div>{label}<code>{text}</code></div>"
        case "reports":
            return f"<div>{label}{', '.join(_link(report) for report in block.items)}</div>"
        case _:
            return f'<div style="margin:.3em 0">{label}{text}</div>'


def _link(report: str) -> str:
    url = report_url(report)
    return f'<a href="{escape(url)}">{escape(report)}</a>' if url else escape(report)
