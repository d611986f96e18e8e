"""What a running server answers to bad requests, explained at its clients: programs that never import SGLang."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "lab" / "clients.py"
EXACT, PROBABLE = False, True  # as the program tells them

CONTEXT = ["request-input-exceeds-context", EXACT]
GRAMMAR = ["request-grammar-not-compiled", EXACT]
BODY = ["request-body-invalid", EXACT]
OPENAI = {
    "context": CONTEXT,
    # vLLM words it alike; the flat form of the answer is SGLang's, and was vLLM's until 2025
    "sampling": ["request-sampling-value-out-of-range", PROBABLE],
    "grammar": GRAMMAR,
    "bad body": BODY,
    "stream": GRAMMAR,
    # word for word and in form what OpenAI and vLLM answer: nothing tells whose server it is, but its name
    "model": None,
    "key": None,
    "model by name": ["request-model-not-found", PROBABLE],
    "key by name": ["request-api-key-rejected", PROBABLE],
}
RAW = {
    **OPENAI,
    "bad JSON": BODY,
    "generate": ["request-sampling-value-out-of-range", PROBABLE],
    "stream of generate": ["request-sampling-value-out-of-range", EXACT],
    # a body that the program has not read is not read for it
    "unread": None,
}
EXPECTED = {
    "openai": OPENAI,
    "openai_async": OPENAI,
    "requests": RAW,
    "httpx": RAW,
    "httpx_async": RAW,
    "aiohttp": RAW,
}


def explained(python, env, client, server):
    done = subprocess.run(
        [python, PROGRAM, client, server], capture_output=True, text=True, env=env, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("client", EXPECTED)
def test_what_the_server_answers_is_explained_at_the_client(live, server, client):
    assert explained(live.python, live.env(), client, server) == EXPECTED[client]


@pytest.mark.parametrize("client", ["openai", "openai_async"])
def test_it_is_explained_at_the_newest_openai_client(live, server, client):
    assert explained(sys.executable, live.env(), client, server) == EXPECTED[client]


DIAGNOSING = """
import json, sys, openai, sgl_explain
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key=sys.argv[2], max_retries=0)
try:
    messages = [{"role": "user", "content": "hello"}]
    client.chat.completions.create(model="m", messages=messages, **json.loads(sys.argv[3]))
except openai.APIError as error:
    explanation = sgl_explain.diagnose(error)
    print(json.dumps(explanation and explanation.to_dict()))
"""


@pytest.mark.parametrize(
    ("key", "options", "word"),
    [
        ("secret-key-1", {"top_p": 3}, "top_p has the value 3"),
        ("secret-key-1", {"max_tokens": 100000}, "context"),
        ("wrong-key", {}, "key"),
    ],
)
def test_whoever_asks_is_told(live, server, key, options, word):
    done = subprocess.run(
        [live.python, "-c", DIAGNOSING, server, key, json.dumps(options)],
        capture_output=True, text=True, env=live.env(), check=True, timeout=120,
    )  # fmt: skip
    explanation = json.loads(done.stdout)

    assert explanation, done.stdout
    assert word in explanation["title"].lower() + explanation["meaning"].lower()


def test_a_plain_http_body_is_explained(server):
    request = urllib.request.Request(
        f"{server}/generate",
        data=json.dumps({"text": "hello", "sampling_params": {"top_p": 3}}).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer secret-key-1"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=60)
    body = caught.value.read().decode()
    command = [sys.executable, "-m", "sgl_explain", "--json", body]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, body
    assert json.loads(done.stdout)["captures"]["given"] == "3"


def test_the_server_lives_on_after_bad_requests(server):
    time.sleep(1)
    request = urllib.request.Request(f"{server}/health", headers={"Authorization": "Bearer secret-key-1"})

    assert urllib.request.urlopen(request, timeout=30).status == 200
