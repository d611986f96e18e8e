"""Names that say their value is secret, as in ``api_key=…``, ``HF_TOKEN: …`` or ``--ssl-keyfile-password …``."""

import re
from enum import Enum
from functools import lru_cache
from typing import Final


class Secrecy(Enum):
    """How much a name says about its value."""

    NONE = "nothing"
    POSSIBLE = "secret if it looks made by a machine: next_token holds a word, session_token may not be known by name"
    LIKELY = "secret unless it reads like an ordinary value: a token may be a number"
    CERTAIN = "secret"
    HEADER = "secret to the end of the line"


_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
# Of the server; argparse takes their beginnings too. --ssl-keyfile is a flag of its own.
_FLAGS: Final = ("api-key", "admin-api-key", "ssl-keyfile-password")
_SHORTEST_PREFIX: Final = {"api-key": "ap", "admin-api-key": "ad", "ssl-keyfile-password": "ssl-k"}

_FOLDERS: Final = ("PWD", "OLDPWD")  # of the shell; no passwords
_CERTAIN: Final = re.compile(
    r"(?:api|access|private|secret|account|signing|encryption|auth|client|ssh|ssl|tls)[-_ ]?keys?"
    r"|secrets?|passw(?:or)?ds?|passphrases?|credentials?|x-amz-signature|(?:^|[-_])pwd$|^-{1,2}bearer$",
    re.IGNORECASE,
)
# password_length, secret_name and ssl_key_file tell about a secret; api_key_2 and API_KEY_OPENAI are one.
_ABOUT: Final = re.compile(
    r"[-_]?(?:size|length|len|count|num|path|file|filename|dir|name|type|kind|format|header|env|env[-_]var|var|field"
    r"|ref|policy|manager|provider|error|required|enabled|expir\w*|ttl|index|idx|errors?|middleware|auth)",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    r"(?:(?P<owner>[\w-]*?)[-_])?(?:tokens?|pass|auth)(?:[-_]?(?:[0-9]{1,3}|read|write|ro|rw|value|secret))?"
    r"|(?P<camel>[a-z]+)Tokens?",
    re.IGNORECASE,
)
_OWNERS: Final = re.compile(
    r"(?:^|[-_])(?:hf|hub|hugging-?face|api|auth|oauth|access|session|security|refresh|bearer|git|gh|github|gitlab|slack"
    r"|ms|modelscope|modelopt|id|jwt|csrf|xsrf|login|registry|wandb|ngc|nvidia|openai|anthropic|azure|aws|gcp|google"
    r"|discord|telegram|sas|personal|deploy|private|secret|client|admin|service|user|my|db|pg|mysql|postgres|redis|smtp"
    r"|ftp|http|proxy)$",
    re.IGNORECASE,
)
# Words of a vocabulary and counts, in capitals as SGLang writes its constants: IMAGE_TOKEN, EMIT_PER_TOKEN.
_VOCABULARY: Final = re.compile(
    r"(?:^|_)(?:eos|bos|pad|unk|cls|sep|mask|image|img|im|audio|video|context|start|end|begin|stop|per|max|min|num|no"
    r"|next|prev|first|last|special|think|tool|new|draft|input|output|prompt|eot|kv|bot|text|dummy|forward|backward|has|use|is)$",
    re.IGNORECASE,
)
_IN_A_QUERY: Final = frozenset({"sig", "signature", "key", "token", "sas", "policy", "x-goog-signature"})


@lru_cache(maxsize=1024)
def secrecy_of(name: str, *, in_query: bool = False) -> Secrecy:
    """Return what a name says; a flag is given with its dashes, and a URL's parameter says so."""
    bare = name.lstrip("-").replace("_", "-").lower()
    if bare in _HEADERS:
        return Secrecy.HEADER
    if _is_abbreviation(name, bare) or _says_certainly(name) or (in_query and bare in _IN_A_QUERY):
        return Secrecy.CERTAIN
    return _secrecy_of_token(name.lstrip("-"), is_flag=name.startswith("-"))


def _is_abbreviation(name: str, bare: str) -> bool:
    return name.startswith("--") and any(
        bare.startswith(_SHORTEST_PREFIX[flag]) and flag.startswith(bare) and bare != "ssl-keyfile" for flag in _FLAGS
    )


def _says_certainly(name: str) -> bool:
    if name in _FOLDERS:
        return False
    ends = [found.end() for found in _CERTAIN.finditer(name)]
    return bool(ends) and _ABOUT.fullmatch(name, ends[-1]) is None


def _secrecy_of_token(name: str, *, is_flag: bool) -> Secrecy:
    found = _TOKEN.fullmatch(name)
    if found is None:
        return Secrecy.NONE
    owner = found["owner"] or found["camel"] or ""
    if _OWNERS.search(owner):
        return Secrecy.CERTAIN
    if name.lower().endswith("tokens"):
        return Secrecy.NONE
    if not owner:
        return Secrecy.CERTAIN if is_flag or name == "TOKEN" else Secrecy.LIKELY
    if not name.isupper() or _VOCABULARY.search(owner):
        return Secrecy.POSSIBLE
    return Secrecy.CERTAIN if name.endswith("PASS") else Secrecy.LIKELY
