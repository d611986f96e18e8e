import pytest

from sgl_explain.redact import redacted, redacted_argv


@pytest.mark.parametrize(
    "secret",
    [
        "hf_AbCdEfGhIjKlMnOpQrSt",
        "sk-proj-1234567890abcdef",
        "ghp_0123456789abcdefABCD",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_tokens_known_by_their_shape_are_masked(secret: str):
    assert secret not in redacted(f"failed with {secret} today")


@pytest.mark.parametrize(
    "text",
    [
        "ServerArgs(api_key='topsecret1', port=30000)",
        '{"api_key": "topsecret1"}',
        "--api-key topsecret1 --port 1",
        "--admin-api-key=topsecret1",
        "HF_TOKEN=topsecret1 python x.py",
        "Authorization: Bearer topsecret1",
        "https://user:topsecret1@host/path",
        "--ssl-keyfile-password 'topsecret1'",
        "AWS_SECRET_ACCESS_KEY=topsecret1",
    ],
)
def test_values_of_secret_names_are_masked(text: str):
    assert "topsecret1" not in redacted(text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('File "/home/maria/sglang/x.py"', 'File "~/sglang/x.py"'),
        ("/Users/maria/models/llama", "~/models/llama"),
        ("/root/models/llama", "~/models/llama"),
        (r"C:\Users\maria\models", r"~\models"),
    ],
)
def test_home_folders_are_masked(text: str, masked: str):
    assert redacted(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None",
        "/srv/models/llama",
        "the tokenizer's api",
        "SSL key file not found: '/srv/tls/nokey.pem'",
        "--max-total-tokens 4096",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert redacted(text) == text


def test_a_secret_flag_masks_the_word_after_it():
    assert redacted_argv(("--api-key", "topsecret1", "--port", "1")) == ("--api-key", "****", "--port", "1")


@pytest.mark.parametrize("piece", ["-", "--", "a-", "key-", "api_key", "_", "=", "'", "password ", "x@", "sk-"])
def test_a_long_run_costs_little(piece: str):
    """Fails by taking minutes: no rule may be quadratic in a repeated piece."""
    redacted(piece * (64_000 // len(piece)))
