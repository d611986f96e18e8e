"""What a server answered, as far as an HTTP client's exception carries it: only what the client has read already."""

from typing import Final
from urllib.parse import urlsplit

from sgl_explain.http_body import MAX_BODY_CHARS, Origin, Reply, replies_in_body, replies_in_text

_CLIENTS: Final = frozenset({"openai", "requests", "httpx", "httpx2", "aiohttp", "urllib"})
_DEFAULT_PORT: Final = 30000  # ServerArgs.port
_MAX_PLAIN_CHARS: Final = 500


def is_of_http_client(error: BaseException) -> bool:
    """Tell whether an HTTP client raises this type: what it says was said by a server."""
    return str(type(error).__module__).partition(".")[0] in _CLIENTS


def replies_of(error: BaseException) -> tuple[Reply, ...]:
    """Return what the server answered; empty where the exception does not carry it or the body was not read."""
    text = _text_read(_response_of(error))
    found = replies_in_text(text) or replies_in_body(getattr(error, "body", None)) or _plain_reply(text)
    address = origin_by_address(error)
    return tuple(Reply(reply.message, reply.origin or address) for reply in found)


def origin_by_address(error: BaseException) -> Origin:
    """Return what the address that was asked shows: SGLang's default port, or its name in the host's."""
    try:
        request = getattr(error, "request", None) or getattr(error, "request_info", None)
        address = urlsplit(str(getattr(request, "url", "")))
        is_likely = address.port == _DEFAULT_PORT or "sglang" in (address.hostname or "")
    except Exception:  # noqa: BLE001 - httpx raises of its own where no request is set, urlsplit for odd ports
        return ""
    return "perhaps sglang" if is_likely else ""


def _response_of(error: BaseException) -> object:
    response = getattr(error, "response", None)
    return _response_that_raised(error) if response is None else response


def _response_that_raised(error: BaseException) -> object:
    """The response whose ``raise_for_status`` raised this; aiohttp's exception does not refer to it."""
    call = error.__traceback__
    while call is not None and call.tb_next is not None:
        call = call.tb_next
    is_it = call is not None and call.tb_frame.f_code.co_name == "raise_for_status"
    return call.tb_frame.f_locals.get("self") if call is not None and is_it else None


def _text_read(response: object) -> str:
    """The body where the client holds it already (requests and httpx, aiohttp); nothing is read here."""
    contents = (getattr(response, name, None) for name in ("_content", "_body"))
    content = next((content for content in contents if isinstance(content, bytes)), b"")
    return content[:MAX_BODY_CHARS].decode("utf-8", "replace")


def _plain_reply(text: str) -> tuple[Reply, ...]:
    """A short answer that is no JSON, as the router's."""
    return (Reply(text.strip()),) if 0 < len(text) <= _MAX_PLAIN_CHARS and text[:1] not in "{[<" else ()
