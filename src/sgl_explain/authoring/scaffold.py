"""Scaffolding an entry from a pasted message or traceback."""

import re
from typing import Final

from sgl_explain.authoring.check import file_for
from sgl_explain.diagnosis import evidence_in_text
from sgl_explain.evidence import Evidence, Raised

_VALUE: Final = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])|(?<![\w/])/[\w./-]+")
_WORD: Final = re.compile(r"[a-z0-9]+")

_PAGE: Final = '''# belongs in src/sgl_explain/data/entries/{file}
[{id}]
title      = "…the problem in at most 72 characters…"
raises     = [{raises}]
templates  = [{template}]
upstream   = [{upstream}]
versions   = ">=…"
meaning    = """
…the cause in two or three sentences, with the captured values in them…
"""
trigger    = "…"
situations = ["…"]

[[{id}.fixes]]
do            = "…the safest fix first…"
applicability = "safe"

[{id}.example]
before = "…"
after  = "…"

[{id}.prevention]
habits = ["…"]

[[{id}.tests]]
message  = {message}
captures = {{ {captures} }}
'''


def scaffold(text: str) -> str:
    """Return an entry to fill in, as TOML: type, template, captures, upstream and file as far as the text tells."""
    raised = _telling(list(evidence_in_text(text)))
    template, captures = _template(raised.message)
    frame = raised.sglang_frame
    upstream = f"{frame.module}:{frame.function}" if frame else "sglang.…:…"
    return _PAGE.format(
        file=file_for(upstream) if frame else "…",
        id="-".join(_WORD.findall(raised.message.lower())[:6]) or "…",
        raises=", ".join(_quoted(name) for name in raised.types[:1]),
        template=_quoted(template),
        upstream=_quoted(upstream),
        message=_quoted(raised.message),
        captures=", ".join(f"{name} = {_quoted(value)}" for name, value in captures.items()),
    )


def _telling(found: list[Evidence]) -> Raised:
    links = [link for evidence in found for link in evidence.raised]
    return max(links, key=lambda link: (bool(link.frames), bool(link.types)))


def _template(message: str) -> tuple[str, dict[str, str]]:
    """The message with its numbers, paths and quoted values as placeholders."""
    captures: dict[str, str] = {}

    def hole(found: re.Match[str]) -> str:
        name = f"value{len(captures) + 1}"
        quote = found[0][0] if found[0][0] in "'\"" else ""
        captures[name] = found[0].strip(quote) if quote else found[0]
        return f"{quote}{{{name}}}{quote}"

    parts = re.split(f"({_VALUE.pattern})", message)
    folded = (hole(found) if (found := _VALUE.fullmatch(part)) else _escaped(part) for part in parts)
    return " ".join("".join(folded).split()), captures


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
