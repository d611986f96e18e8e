import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgl_explain.redact import MASK, redacted, redacted_argv

SECRET = "s3cr3tV4lue-xyz"  # of no known shape: only its place tells

TOKENS = [
    "hf_AbCdEfGhIjKlMnOpQrSt",
    "hf_Ab1cdefg",
    "hf_oauth_eyJhbGci1234567",
    "api_org_abcdefghijklmnopqrst",
    "sk-proj-1234567890abcdef",
    "sk-ant-api03-aaaaaaaaaaaaaaaa",
    "sk-1234",
    "sk_live_aaaaaaaaaaaaaaaaaaaaaaa",
    "ghp_0123456789abcdefABCD",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "glpat-abcdefghij1234567890",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "xoxb-1234567890-abcdefghij",
    "xapp-1-A012-345-abcdef0123456789",
    "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "nvapi-abcdefghijklmnopqrstuvwxyz0123",
    "gsk_abcdefghijklmnopqrstuvwxyz012345",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
    "dop_v1_abcdef0123456789abcdef",
    "ya29.a0AfH6SMBabcdefghijk",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
]

# § stands for the secret.
PLACES = [
    # reprs and source lines
    "ServerArgs(api_key='§', port=30000)",
    "ServerArgs(api_key=§, port=1)",
    "Namespace(admin_api_key='§')",
    "api_key = '§'",
    "api_key: str = '§'",
    "api_key: Optional[str] = '§'",
    "self.api_key == '§'",
    "api_key=b'§'",
    "api_key='''§'''",
    "api_key=SecretStr('§')",
    "api_key=os.environ.get('KEY', '§')",
    "api_keys=['§', 'another §']",
    "credentials={'user': 'x', 'more': {'password': '§'}, 'last': '§'}",
    "api_key='it\\'s §'",
    'api_key="don\'t §"',
    "api_key='say \"§\" twice'",
    "api_key='None§'",
    "api_key=None§",
    "api_key=*§",
    "api_key='§",
    "os.environ['HF_TOKEN'] = '§'",
    "os.environ.get('HF_TOKEN', '§')",
    "requests.get(url, auth=('user', '§'))",
    "token='§'",
    "token=§",
    "{'token': '§'}",
    "apiKey: '§'",
    "accessToken: '§'",
    # JSON, once and several times in a string
    "{'api_key': '§'}",
    '{"api_key": "§"}',
    '{"api_key":"§","port":1}',
    '{"api_key":\n  "§"}',
    r"{\"api_key\": \"§\"}",
    r"{\'api_key\': \'§\'}",
    r"\\\"api_key\\\": \\\"§\\\"",
    r"{\"api_key\": \"a \\\"quoted\\\" §\"}",
    '{"api_keys": [\n  "§"\n]}',
    # commands
    "--api-key § --port 1",
    "--api-key=§ --port 1",
    "--api_key §",
    "--api-key '§'",
    '--api-key="§"',
    "--api-key 'a § with blanks'",
    "--api-key 'it'\\''s §'",
    "--api-key 'it'\"'\"'s §'",
    "--api-key -§",
    "--api-key \\\n  §",
    "--api-key\nS",
    "--api §",
    "--ap=§",
    "--adm §",
    "--ssl-keyfile-pass §",
    "--ssl-keyfile-password '§'",
    "--admin-api-key=§",
    "--token §",
    "--bearer §",
    "--modelopt-token §",
    "--hf-token §",
    "--grpc-tls-key §",
    "['python', '--api-key', '§', '--port']",
    '["--api-key","§"]',
    "argv=['--api-key=§ and §']",
    "unrecognized arguments: --api-keyy §",
    # environment
    "HF_TOKEN=§ python x.py",
    "HF_TOKEN='§'",
    "export HUGGING_FACE_HUB_TOKEN=§",
    "HUGGINGFACE_TOKEN=§",
    "MODELSCOPE_API_TOKEN=§",
    "GH_TOKEN=§",
    "SLACK_TOKEN=§",
    "MY_TOKEN=§",
    "TOKEN=§",
    "AWS_SECRET_ACCESS_KEY=§",
    "AWS_SESSION_TOKEN=§",
    "DB_PASS=§",
    "PGPASSWORD=§",
    "MYSQL_PWD=§",
    "private_key=§",
    "credentials=§",
    "password=p,w;§",
    r"line\nHF_TOKEN=§",
    r"line\napi_key: §",
    # words and headers
    "api_key: §",
    "api-key: §",
    "X-API-Key: §",
    "HF_TOKEN: §",
    "password: §",
    "the password is §",
    "Incorrect API key provided: §",
    "Authorization: Bearer §",
    "Authorization: Basic §",
    "Authorization: §",
    "authorization: Token §",
    'Proxy-Authorization: Digest username="me", response="§"',
    "curl -H 'Authorization: Digest a, §' http://host",
    "{'Authorization': 'Bearer §'}",
    "{'authorization': '§'}",
    "(b'authorization', b'Bearer §')",
    "(b'x-api-key', b'§')",
    "[['x-api-key', '§']]",
    "Cookie: a=b; session=§",
    "Set-Cookie: sid=§; Path=/",
    "Bearer §",
    # addresses
    "https://user:§@host/path",
    "https://§@host/path",
    "redis://:§@host:6379",
    "postgresql://u:p@§@host/db",
    "https://user:pa/§@host/",
    "https://host/x?token=§",
    "https://host/x?b=1&access_token=§&c=1",
    "https://x.blob.core.windows.net/a?sv=1&sig=§",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=§&X-Amz-Signature=§",
    "https://hooks.slack.com/services/T000/B000/§",
    # key blocks, whole, on one line, clipped
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpA\nS\n-----END RSA PRIVATE KEY-----",
    r"-----BEGIN PRIVATE KEY-----\nMIIEpA\nS\n-----END PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nMIIEpA\nS",
]

ORDINARY = [
    "api_key=None",
    "api_key=None, admin_api_key='', port=1",
    "{'api_key': null}",
    "/srv/models/llama",
    "the tokenizer's api",
    "SSL key file not found: '/srv/tls/nokey.pem'",
    "--ssl-keyfile /srv/tls/key.pem",
    "--max-total-tokens 4096",
    "--tokenizer-path /srv/tokenizer --skip-tokenizer-init",
    "hf_transfer hf_overrides hf_quantizer hf_quantizer_config self.hf_config.hf_text_config",
    "AttributeError: module 'x' has no attribute 'hf_text_config'",
    "Basic authentication is required",
    "Basic internationalization",
    "basic tokenizer",
    "Bearer token missing",
    "Bearer authentication failed",
    "--api-key requires a value",
    "--api-key must be set",
    "argument --api-key: expected one argument",
    "--api-key and --admin-api-key differ",
    "--api-key --port 30000",
    "use one of ['--api-key', '--admin-api-key']",
    "unexpected names: ['api_key', 'model']",
    "sk-attention sk-learn sk-token disk-offload task-specific",
    "max_token=5, eos_token='</s>', pad_token='<pad>', bos_token='<s>', token_id=3, num_tokens=7",
    "next_token: 'hello', image_token='<image>', bytes_per_token=656",
    "token=151645",
    "if token == self.image_token_id: while token != expected_token:",
    "input has 4096 tokens, tokens: 5",
    "656 B/token: nope, a 64-token page, f'{size}-token page'",
    "KeyError: 'token'",
    "tokenizer='/x'",
    "passes 3 tests, PASS: test_one, forward_pass=3",
    "signature mismatch of function f",
    "secret_key_size=5 must be int",
    "password_length=3",
    "access_token_ids: [1]",
    "hub_token_id='5'",
    "password: field required",
    "def f(api_key: str, token: Optional[str] = None)",
    "api_key=self.server_args.api_key",
    "key: model.layers.0.weight",
    "PWD=/srv/work",
    "http://127.0.0.1:3000/@foo",
    "http://[::1]:3000/@foo",
    "tcp://127.0.0.1:3000, rank@host",
    "ssh://git@github.com/foo git@github.com:foo/bar user@host",
    "https://example.com/home/page and /v1/users/123",
    "no BEGIN line, expected '-----BEGIN PRIVATE KEY-----' in /srv/key.pem",
    "No space left on /home",
    "/root-dir/x",
]

HOMES = [
    ('File "/home/maria/sglang/x.py"', 'File "~/sglang/x.py"'),
    ("/Users/maria/models/llama", "~/models/llama"),
    ("/root/models/llama", "~/models/llama"),
    ("/mnt/home/maria/x", "~/x"),
    ("/data/home/maria/x", "~/x"),
    ("/var/home/maria/x", "~/x"),
    ("/export/home/maria/x", "~/x"),
    ("/home2/maria/x", "~/x"),
    ("/homes/maria/x", "~/x"),
    ("/nfs/users/maria/x", "~/x"),
    ("file:///home/maria/x", "file://~/x"),
    ("volume:/home/maria/x", "volume:~/x"),
    ("nvcc -I/home/maria/include", "nvcc -I~/include"),
    ("/home/maria,bob", "~,bob"),
    ("/c/Users/maria/x", "~/x"),
    ("D:/Users/maria/x", "~/x"),
    (r"C:\Users\maria\models", r"~\models"),
    (r"C:\\Users\\maria\\models", r"~\\models"),
    (r"C:\Users\Maria Doe\models", r"~\models"),
    (r"\\srv\Users\maria\x", r"~\x"),
    ("%2Fhome%2Fmaria%2Fx", "~%2Fx"),
]

# fmt: off
PIECES = [
    "-", "--", "a-", "a.", "torch.nn.modules.", "key-", "-eyJaaaaaaaa", "eyJaaaaaaaaaaa.", "api_key", "_", "=", "'",
    '"',
    "\\", "password ", "x@", "sk-", "a://", "a://b:", "a://b:c", "/home", "/a", "\\a", "%2Fa", "api_key='", "api_key=(",
    "api_key=(\\", "api_key=['", "api_key=a,", "api_key: ", "--api-key ", "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n", "authorization: ", "authorization:a ", "'authorization: ", "bearer ", "Basic A",
    "(token=", "(token=(", "token=", "a_token=", "a_token='a", "a: Optional[", "token: str", "(b'a', ", "a=b,", " ",
    "\n",
]
# fmt: on

SNIPPETS = [*(place.replace("§", SECRET) for place in PLACES), *TOKENS, *ORDINARY, *(home for home, _ in HOMES)]
GLUE = [
    "",
    " ",
    "\n",
    ", ",
    ": ",
    "=",
    "'",
    '"',
    "\\",
    "&",
    "?",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "-",
    "/",
    "@",
    "~",
    MASK,
]
SECRET_NAMES = ["api_key", "admin_api_key", "ssl_keyfile_password", "hf_token"]


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_known_by_their_shape_are_masked(token: str):
    assert redacted(f"failed with {token} today") == f"failed with {MASK} today"


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_masked_where_its_place_tells(place: str):
    found = redacted(place.replace("§", SECRET))

    assert SECRET not in found
    assert MASK in found


@pytest.mark.parametrize(("text", "masked"), HOMES)
def test_home_folders_are_masked(text: str, masked: str):
    assert redacted(text) == masked


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str):
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("ServerArgs(api_key='a', port=1)", "ServerArgs(api_key='****', port=1)"),
        ("f(api_key=a1,port=1)", "f(api_key=****,port=1)"),
        ("f(api_keys=['a', 'b'], port=1)", "f(api_keys=[****], port=1)"),
        ("--api-key a1 --port 1", "--api-key **** --port 1"),
        ("https://u:p@host/x?token=a1&b=1", "https://****@host/x?token=****&b=1"),
        ("Authorization: Bearer a1 was refused", "Authorization: Bearer **** was refused"),
        ("curl -H 'Authorization: a1' http://host", "curl -H 'Authorization: ****' http://host"),
        ("Error: api_key='a' is wrong", "Error: api_key='****' is wrong"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, masked: str):
    assert redacted(text) == masked


def test_a_secret_flag_masks_the_word_after_it():
    assert redacted_argv(("--api-key", "topsecret1", "--port", "1")) == ("--api-key", MASK, "--port", "1")


def test_a_secret_flag_with_its_value_masks_no_further_word():
    assert redacted_argv(("--api-key=a1", "--port", "1")) == (f"--api-key={MASK}", "--port", "1")


@pytest.mark.parametrize(
    "argv",
    [
        ("--api-key", SECRET),
        ("--api-key", f"-{SECRET}"),
        ("--api-key", f"--{SECRET}"),
        ("--api", SECRET),
        (f"--ap={SECRET}",),
        (f"--api-key=a {SECRET}",),
        (f"HF_TOKEN=a {SECRET}", "python"),
        ("--api-keys", "a", SECRET),
        ("--bearer", SECRET),
        ("--modelopt-token", SECRET),
        ("--json-model-override-args", json.dumps({"hf_token": SECRET})),
        ("bash", "-c", f"sglang serve --api-key {SECRET}"),
    ],
)
def test_a_command_shows_no_secret(argv: tuple[str, ...]):
    assert SECRET not in " ".join(redacted_argv(argv))


@pytest.mark.parametrize(
    "flag", ["--tokenizer-path", "--ssl-keyfile", "--max-total-tokens", "--eos-token", "--adapter"]
)
def test_the_word_after_another_flag_stays(flag: str):
    assert redacted_argv((flag, "value", "--port", "1")) == (flag, "value", "--port", "1")


@given(st.lists(st.tuples(st.sampled_from(SNIPPETS), st.sampled_from(GLUE)), max_size=5))
def test_masking_twice_is_masking_once(pieces: list[tuple[str, str]]):
    once = redacted("".join(snippet + glue for snippet, glue in pieces))

    assert redacted(once) == once


@given(
    secret=st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Z"]), min_size=1).map("§{}§".format),
    name=st.sampled_from(SECRET_NAMES),
    port=st.integers(0, 65535),
    path=st.from_regex(r"/srv(/[b-g0-9_-]{1,12}){1,4}", fullmatch=True),
    at=st.integers(0, 4),
)
def test_only_the_secret_of_server_args_is_lost(secret: str, name: str, port: int, path: str, at: int):
    others = [f"model_path={path!r}", f"port={port}", "tp_size=8", "eos_token='</s>'"]
    parts = [*others[:at], f"{name}={secret!r}", *others[at:]]

    found = redacted(f"server_args=ServerArgs({', '.join(parts)})")

    expected = [*others[:at], f"{name}={repr(secret)[0]}{MASK}{repr(secret)[0]}", *others[at:]]
    assert found == f"server_args=ServerArgs({', '.join(expected)})"


@given(st.text(min_size=1).map("§{}§".format), st.integers(0, 2))
def test_a_value_in_json_is_masked_at_any_depth(secret: str, depth: int):
    text = json.dumps({"api_key": secret, "port": 1})
    for _ in range(depth):
        text = json.dumps({"body": text})

    assert "u00a7" not in redacted(text)


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_run_is_masked_in_linear_time(piece: str):
    """Fails by taking minutes: a rule that is quadratic in a repeated piece takes ten seconds and more for each."""
    redacted(piece * (64_000 // len(piece)))
