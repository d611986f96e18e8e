"""The error bodies of SGLang's HTTP routes, and the forms in which clients show them.

Shapes (sglang/srt/entrypoints/openai/protocol.py ErrorResponse, http_server.py): OpenAI routes answer
``{"object": "error", "message": …, "type": …, "code": …}``, ``/generate`` ``{"error": {"message": …}}``, a bad key
``{"error": "Unauthorized"}``, FastAPI ``{"detail": …}``; a stream carries the same after ``data: ``. The openai client
prints the body as a Python dict: ``Error code: 400 - {'object': 'error', …}``.
"""

import ast
import json
import re
from typing import Final

_MAX_BODY_CHARS: Final = 64_000
_BODY: Final = re.compile(r"""\{\s*['"](?:object|error|message|detail|type|id)['"]\s*:""")


def messages_in_body(body: object, depth: int = 3) -> tuple[str, ...]:
    """Return the error messages of a decoded body; empty if it is not an error body of these shapes."""
    match body:
        case {"error": str() as message} | {"detail": str() as message} | {"message": str() as message}:
            return (message,)
        case {"error": dict() as inner} | {"detail": dict() as inner} if depth:
            return messages_in_body(inner, depth - 1)
        case {"detail": list() as problems}:
            return tuple(_validation_problem(problem) for problem in problems if isinstance(problem, dict))
        case _:
            return ()


def messages_in_text(text: str) -> tuple[str, ...]:
    """Return the error messages of a body that stands in a text: JSON, a Python dict, a ``data:`` line."""
    text = text[:_MAX_BODY_CHARS]
    found = _BODY.search(text)
    return messages_in_body(_decoded(text[found.start() :])) if found else ()


def _decoded(text: str) -> object:
    """What a text that begins with a JSON object or a Python dict says; None if it is cut or neither."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text[: text.rfind("}") + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _validation_problem(problem: dict[str, object]) -> str:
    """A pydantic problem as one line: ``body.messages: Field required``."""
    where = problem.get("loc")
    place = ".".join(map(str, where)) if isinstance(where, list | tuple) else ""
    return f"{place}: {problem.get('msg', '')}"
