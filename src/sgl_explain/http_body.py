"""The error bodies of SGLang's HTTP routes, and the forms in which clients show them.

Shapes (sglang/srt/entrypoints/openai/protocol.py ErrorResponse, http_server.py): OpenAI routes answer
``{"object": "error", "message": …, "type": …, "code": …}``, ``/generate`` ``{"error": {"message": …}}``, a bad key
``{"error": "Unauthorized"}``, FastAPI ``{"detail": …}``; a stream carries the same after ``data: ``, and ``/generate``
tells a failure of a running request as its ``finish_reason``. The openai client prints the body as a Python dict:
``Error code: 400 - {'object': 'error', …}``.
"""

import ast
import json
import re
from dataclasses import dataclass
from typing import Final, Literal

Origin = Literal["", "perhaps sglang", "sglang"]
"""What a reply shows of its server: nothing, a form in which others answer too, or one that only SGLang has."""

MAX_BODY_CHARS: Final = 64_000
_BODY: Final = re.compile(r"""\{\s*['"](?:object|error|message|detail|type|id|text|meta_info)['"]\s*:""")
# validation errors name the file whose route refused the request
_OWN_FILE: Final = re.compile(r"\bsglang[/.]srt\b")


@dataclass(frozen=True, slots=True)
class Reply:
    """An error message that a server answered, and what the answer shows of the server."""

    message: str
    origin: Origin = ""


def messages_in_body(body: object, depth: int = 3) -> tuple[str, ...]:
    """Return the error messages of a decoded body; empty if it is not an error body of these shapes."""
    match body:
        case {"error": str() as word} if word.isalpha():
            return (json.dumps(body, separators=(",", ":")),)  # the word alone says nothing
        case {"error": str() as message} | {"detail": str() as message} | {"message": str() as message}:
            return (message,)
        case {"meta_info": {"finish_reason": {"type": "abort", "message": str() as message}}}:
            return (message,)
        case {"error": dict() as inner} | {"detail": dict() as inner} if depth:
            return messages_in_body(inner, depth - 1)
        case {"detail": list() as problems}:
            return tuple(_validation_problem(problem) for problem in problems if isinstance(problem, dict))
        case _:
            return ()


def replies_in_body(body: object) -> tuple[Reply, ...]:
    """Return what a decoded body says, and whose it is as far as that shows."""
    origin = _origin_of(body)
    return tuple(
        Reply(message, "sglang" if _OWN_FILE.search(message) else origin) for message in messages_in_body(body)
    )


def replies_in_text(text: str) -> tuple[Reply, ...]:
    """Return what a body that stands in a text says: JSON, a Python dict, a ``data:`` line."""
    text = text[:MAX_BODY_CHARS]
    found = _BODY.search(text)
    return replies_in_body(_decoded(text[found.start() :])) if found else ()


def _origin_of(body: object) -> Origin:
    """What the form shows; vLLM answered in the flat one until 2025, and LMDeploy still does."""
    match body:
        case {"meta_info": {"finish_reason": {"type": "abort"}}} | {"error": {"retryable": _}} | {"retryable": _}:
            return "sglang"
        case {"object": "error"} | {"error": {"object": "error"}}:
            return "perhaps sglang"
        case {"error": {"message": _, **rest}} if not rest:
            return "perhaps sglang"
        case {"type": "error", "error": {"type": "BadRequestError"}}:  # /v1/messages; Anthropic names it otherwise
            return "perhaps sglang"
        case _:
            return ""


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
