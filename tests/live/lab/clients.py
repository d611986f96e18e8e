"""A client program: ``clients.py CLIENT SERVER`` sends bad requests and logs what comes back as any program would.

Prints, as JSON, which entry explained each failure on standard error; None where nothing was explained. SGLang is
not imported here.
"""

import asyncio
import contextlib
import io
import json
import logging
import re
import socket
import sys

import sgl_explain
from sgl_explain.integrations import _guard

LOGGER = logging.getLogger("app")
KEY = "secret-key-1"
LONG, SHORT = "hello " * 6000, "hello"
UNCLOSED = "(unclosed"
CHAT = "/v1/chat/completions"


def chat(text=SHORT, **options):
    return {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 4, **options}


# what is sent: route, body (None: GET), key
REQUESTS = {
    "context": (CHAT, chat(LONG), KEY),
    "sampling": (CHAT, chat(top_p=3), KEY),
    "grammar": (CHAT, chat(regex=UNCLOSED), KEY),
    "bad body": (CHAT, {"model": "m", "messages": "hello"}, KEY),
    "bad JSON": (CHAT, b'{"model": "m", ', KEY),
    "generate": ("/generate", {"text": SHORT, "sampling_params": {"top_p": 3}}, KEY),
    "stream": (CHAT, chat(regex=UNCLOSED, stream=True), KEY),
    "stream of generate": ("/generate", {"text": SHORT, "stream": True, "sampling_params": {"top_p": 3}}, KEY),
    "unread": (CHAT, chat(LONG), KEY),
    "model": ("/v1/models/other", None, KEY),
    "key": (CHAT, chat(), "wrong-key"),
}
HOST = "sglang-0.models"
NAMES = (HOST, HOST.encode())


def content(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def headers(key):
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def refuse(line):
    """What many programs do with an error in the midst of a stream."""
    if line.startswith("data: ") and "error" in line:
        raise RuntimeError(f"the stream broke off: {line}")


def by_requests(base, name):
    import requests

    route, body, key = REQUESTS[name]
    if body is None:
        requests.get(base + route, headers=headers(key), timeout=60).raise_for_status()
        return
    streams = "stream" in name or name == "unread"
    response = requests.post(base + route, data=content(body), headers=headers(key), timeout=60, stream=streams)
    try:
        response.raise_for_status()
    except requests.HTTPError:
        if name == "unread":
            LOGGER.exception("the request failed")
            assert response.json()["message"], "the body was left for the program to read"
            return
        raise
    for line in response.iter_lines(decode_unicode=True):
        refuse(line)


def by_httpx(base, name):
    import httpx

    route, body, key = REQUESTS[name]
    with httpx.Client(timeout=60, headers=headers(key)) as client:
        if body is None:
            client.get(base + route).raise_for_status()
        elif "stream" in name:
            with client.stream("POST", base + route, content=content(body)) as response:
                for line in response.iter_lines():
                    refuse(line)
        elif name == "unread":
            with client.stream("POST", base + route, content=content(body)) as response:
                try:
                    response.raise_for_status()
                except httpx.HTTPStatusError:
                    LOGGER.exception("the request failed")
                    assert json.loads(response.read())["message"], "the body was left for the program to read"
        else:
            client.post(base + route, content=content(body)).raise_for_status()


def by_httpx_async(base, name):
    import httpx

    async def ask():
        route, body, key = REQUESTS[name]
        async with httpx.AsyncClient(timeout=60, headers=headers(key)) as client:
            if body is None:
                (await client.get(base + route)).raise_for_status()
            elif "stream" not in name and name != "unread":
                (await client.post(base + route, content=content(body))).raise_for_status()
            else:
                async with client.stream("POST", base + route, content=content(body)) as response:
                    response.raise_for_status()
                    async for line in response.aiter_lines():
                        refuse(line)

    asyncio.run(ask())


def by_aiohttp(base, name):
    import aiohttp

    async def ask():
        route, body, key = REQUESTS[name]
        method, data = ("GET", None) if body is None else ("POST", content(body))
        session = aiohttp.ClientSession(headers=headers(key))
        async with session, session.request(method, base + route, data=data) as response:
            if response.status == 200:
                async for line in response.content:
                    refuse(line.decode())
            if name != "unread":
                await response.text()
            response.raise_for_status()

    asyncio.run(ask())


def by_openai(base, name):
    import openai

    _, body, key = REQUESTS[name]
    client = openai.OpenAI(base_url=base + "/v1", api_key=key, max_retries=0)
    if body is None:
        client.models.retrieve("other")
        return
    answer = client.chat.completions.create(**openai_options(body))
    for _ in answer if "stream" in name else ():
        pass


def by_openai_async(base, name):
    import openai

    async def ask():
        _, body, key = REQUESTS[name]
        async with openai.AsyncOpenAI(base_url=base + "/v1", api_key=key, max_retries=0) as client:
            if body is None:
                await client.models.retrieve("other")
                return
            answer = await client.chat.completions.create(**openai_options(body))
            if "stream" in name:
                async for _ in answer:
                    pass

    asyncio.run(ask())


def openai_options(body):
    own = {key: value for key, value in body.items() if key != "regex"}
    return {**own, "extra_body": {"regex": body["regex"]}} if "regex" in body else own


def explained(ask, base, name):
    """Log the failure of a request, and tell what was explained on standard error."""
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown):
        try:
            ask(base, name)
        except Exception:
            LOGGER.exception("the request failed")
    text = shown.getvalue()
    ids = re.findall(r"^  More: +sgl-explain show (\S+)$", text, re.MULTILINE)
    assert len(ids) <= 1, text
    return [ids[0], "(probable)" in text.partition("sgl_explain: ")[2].partition("\n  ")[0]] if ids else None


def main(client, server):
    _guard.BUDGET_S = 60.0  # what is explained is asked here, not how fast a busy machine is
    sgl_explain.install()
    logging.basicConfig(handlers=[logging.NullHandler()])
    ask = globals()[f"by_{client}"]
    left_out = ("bad JSON", "generate", "stream of generate", "unread") if client.startswith("openai") else ()
    names = [name for name in REQUESTS if name not in left_out]
    found = {name: explained(ask, server, name) for name in names}
    # the same server under a name that says what it is, as a cluster's DNS would give it
    resolve = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *rest, **more: resolve("127.0.0.1" if host in NAMES else host, *rest, **more)
    named = server.replace("127.0.0.1", HOST)
    found |= {f"{name} by name": explained(ask, named, name) for name in ("model", "key") if name in names}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
