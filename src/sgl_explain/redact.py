"""Secrets and home folders, masked before anything is kept, matched or shown."""

import re
from typing import Final

MASK: Final = "****"

_HUSH_NAME: Final = (
    r"[\w-]{0,40}?(?:api[-_]?key|secret|passw(?:or)?d|passphrase|access[-_]?key|auth[-_]?token|hf[-_]?token"
    r"|hub[-_]?token|access[-_]?token|keyfile[-_]?password)[\w-]{0,40}"
)
_RULES: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # a credential in a URL: scheme://user:password@host
        (r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@'\"]+@", rf"\1{MASK}@"),
        # tokens that are known by their shape: Hugging Face, OpenAI, GitHub, AWS, Slack, JSON Web Tokens
        (r"\bhf_[A-Za-z0-9]{8,}", MASK),
        (r"\bsk-[A-Za-z0-9_-]{6,}", MASK),
        (r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}", MASK),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", MASK),
        (r"\bxox[abprs]-[A-Za-z0-9-]{8,}", MASK),
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", MASK),
        (r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", rf"\1 {MASK}"),
        # a value given to a name that says it is secret: api_key='…', "api_key": "…", --api-key …, HF_TOKEN=…
        (rf"(?i)(?<![\w-])({_HUSH_NAME}['\"]?\s*[=:]\s*)(['\"])(?!None\b)[^'\"\n]+\2", rf"\1\2{MASK}\2"),
        (rf"(?i)(?<![\w-])(--{_HUSH_NAME})(\s+|=)(?!-)[^\s'\"]+", rf"\1\2{MASK}"),
        (rf"(?i)(?<![\w-])(--{_HUSH_NAME})(\s+|=)(['\"])[^'\"\n]+\3", rf"\1\2{MASK}"),
        (rf"(?i)(?<![\w-])({_HUSH_NAME}=)(?!None\b|['\"]|\*)[^\s,;)'\"]+", rf"\1{MASK}"),
        # home folders
        (r"(?<![\w.])/(?:home|Users)/[^/\s'\":,;)]+", "~"),
        (r"(?<![\w./])/root(?=/|\b)", "~"),
        (r"(?i)\b[a-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[^\\/\s'\"]+", "~"),
    )
)


def redacted(text: str) -> str:
    """Return the text with credentials masked and home folders written as ``~``.

    Examples: ``hf_…`` and ``sk-…`` tokens, ``Bearer …`` headers, passwords in URLs, and the values of names
    such as ``--api-key``, ``HF_TOKEN`` or ``ssl_keyfile_password``.
    """
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def redacted_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command's words masked; the word after a secret flag is masked even where it stands alone."""
    masked: list[str] = []
    secret_flag = re.compile(rf"(?i)--{_HUSH_NAME}")
    for word in argv:
        follows_secret = bool(masked) and secret_flag.fullmatch(masked[-1]) is not None
        masked.append(MASK if follows_secret and not word.startswith("--") else redacted(word))
    return tuple(masked)
