"""Replies at real HTTP clients: SGLang's are believed, those of other servers are left alone.

The real SGLang answers in tests/live/test_clients.py; the bodies here have the forms of other servers' releases.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import openai
import pytest
import requests

from sgl_explain.evidence import Context, evidence_from
from sgl_explain.explanation import explained
from sgl_explain.http_client import replies_of
from sgl_explain.knowledge_base import bundled_knowledge

TOP_P = "top_p must be in (0, 1], got 3.0."
TOO_LONG = "The input (6017 tokens) is longer than the model's context length (2048 tokens)."


@pytest.fixture
def answering():
    """Return a function that starts a server with one answer and gives its address."""
    servers = []

    def answer(status, body, kind="application/json"):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield answer
    for server in servers:
        server.shutdown()
        server.server_close()


def by_openai(address):
    with openai.OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


def by_requests(address):
    requests.post(f"{address}/v1/chat/completions", json={}, timeout=30).raise_for_status()


def by_httpx(address):
    httpx.post(f"{address}/v1/chat/completions", json={}, timeout=30).raise_for_status()


CLIENTS = [by_openai, by_requests, by_httpx]


def failure(ask, address):
    with pytest.raises((openai.APIError, requests.RequestException, httpx.HTTPError)) as caught:
        ask(address)
    return caught.value


def judged(error, **context):
    """What a hook says in a program that has nothing else to do with SGLang."""
    return explained(evidence_from(error, Context(**context)), bundled_knowledge())


def flat(message, **more):
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400, **more}


def nested(message, kind="BadRequestError", param=None, code=400):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


OTHERS = {
    "vLLM: sampling": (400, nested(TOP_P)),
    "vLLM: sampling, named": (400, nested("temperature must be non-negative, got -1.0.", param="temperature")),
    "vLLM: context": (
        400,
        nested(
            "This model's maximum context length is 2048 tokens. However, you requested 6017 tokens (6001 in the "
            "messages, 16 in the completion). Please reduce the length of the messages or completion."
        ),
    ),
    "vLLM: context, before 2025": (400, flat("This model's maximum context length is 2048 tokens. However, you")),
    "vLLM: model": (404, nested("The model `other` does not exist.", "NotFoundError", code=404)),
    "vLLM: key": (401, {"error": "Unauthorized"}),
    "vLLM: body": (
        400,
        nested("[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'model': 'm'}}]"),
    ),
    "OpenAI: model": (
        404,
        nested("The model 'other' does not exist", "invalid_request_error", "model", "model_not_found"),
    ),
    "OpenAI: model in a chat": (
        404,
        nested(
            "The model `other` does not exist or you do not have access to it.",
            "invalid_request_error",
            None,
            "model_not_found",
        ),
    ),
    "OpenAI: key": (401, nested("Incorrect API key provided: k. You can find", "invalid_request_error", None, "x")),
    "OpenAI: context": (
        400,
        nested(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
            "invalid_request_error",
            "messages",
            "context_length_exceeded",
        ),
    ),
    "OpenAI: sampling": (
        400,
        nested(
            "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 3 instead.",
            "invalid_request_error",
            "top_p",
            "decimal_above_max_value",
        ),
    ),
    "FastAPI: body": (
        422,
        {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required", "input": {}}]},
    ),
    "FastAPI: route": (404, {"detail": "Not Found"}),
    "TGI": (422, {"error": "Input validation error: `top_p` must be > 0.0 and < 1.0", "error_type": "validation"}),
    "llama.cpp": (
        400,
        nested("the request exceeds the available context size (2048 tokens), try increasing it", "exceed_context"),
    ),
    "Ollama": (404, {"error": 'model "other" not found, try pulling it first'}),
    "LMDeploy: sampling": (400, flat("The top_p `3.0` must be in (0, 1].", type="invalid_request_error")),
    "Anthropic": (
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "top_p: must be in (0, 1], got 3.0"}},
    ),
}


@pytest.mark.parametrize("ask", CLIENTS)
@pytest.mark.parametrize("name", OTHERS)
def test_what_another_server_answers_is_not_explained(answering, name, ask):
    assert judged(failure(ask, answering(*OTHERS[name]))) is None


@pytest.mark.parametrize("ask", CLIENTS)
@pytest.mark.parametrize(
    "name", ["vLLM: sampling", "vLLM: sampling, named", "vLLM: key", "OpenAI: model"], ids=lambda name: name
)
def test_the_same_words_are_explained_where_sglang_is_in_the_picture(answering, name, ask):
    error = failure(ask, answering(*OTHERS[name]))

    assert judged(error, sglang_in_picture=True) is not None


@pytest.mark.parametrize("ask", CLIENTS)
def test_words_that_only_sglang_uses_are_believed_in_any_form(answering, ask):
    through_a_proxy = nested(f"litellm.BadRequestError: OpenAIException - {TOO_LONG}", None, None, "400")

    assert judged(failure(ask, answering(400, through_a_proxy))).confidence == "exact"


@pytest.mark.parametrize("ask", CLIENTS)
def test_words_that_others_use_too_are_at_most_probable(answering, ask):
    assert judged(failure(ask, answering(400, flat(TOP_P)))).confidence == "probable"


@pytest.mark.parametrize("ask", CLIENTS)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("No available workers (all circuits open or unhealthy)", "text/plain"),
        (
            (
                '{"error":{"type":"Service Unavailable","code":"no_available_workers",'
                '"message":"No available workers (all circuits open or unhealthy)"}}'
            ),
            "application/json",
        ),
    ],
    ids=["router", "gateway"],
)
def test_what_the_router_answers_is_explained(answering, ask, body, kind):
    assert judged(failure(ask, answering(503, body, kind))).id == "router-no-available-workers"


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_page_of_a_proxy_is_no_reply(answering, ask):
    page = "<html><body>No available workers (all circuits open or unhealthy)</body></html>"

    assert replies_of(failure(ask, answering(502, page, "text/html"))) == ()


@pytest.mark.parametrize("address", ["http://127.0.0.1:30000", "http://sglang-0.models:8000"])
def test_the_address_makes_shared_words_probable(address):
    request = httpx.Request("POST", f"{address}/v1/chat/completions")
    response = httpx.Response(400, json=nested(TOP_P), request=request)
    error = failure(lambda _: response.raise_for_status(), "")

    assert judged(error).confidence == "probable"


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_server_that_is_not_there_is_not_explained(ask):
    assert judged(failure(ask, "http://127.0.0.1:9")) is None


def test_an_error_in_which_the_program_quotes_the_reply_is_explained():
    error = RuntimeError(f"HTTP 400: {json.dumps(flat(TOO_LONG))}")

    assert judged(error).id == "request-input-exceeds-context"


def test_an_error_that_quotes_another_servers_reply_is_left_alone():
    assert judged(RuntimeError(f"HTTP 400: {json.dumps(nested(TOP_P))}")) is None


def test_a_client_error_without_request_or_response_is_no_trouble():
    assert replies_of(httpx.HTTPError("x")) == ()
