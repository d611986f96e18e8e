"""Secrets that are known by their own shape, wherever they stand: tokens, keys, credentials in URLs.

No rule may be quadratic: quantifiers that can fail are bounded, and lookbehinds keep a rule from starting again
inside what it has just passed.
"""

import re
from typing import Final

MASK: Final = "****"

_START: Final = r"(?<![A-Za-z0-9])"
_DIGIT_AHEAD: Final = r"(?=[\w.-]{0,80}[0-9])"
_MIXED_AHEAD: Final = r"(?=[A-Za-z0-9+/]{0,80}[a-z])(?=[A-Za-z0-9+/]{0,80}[A-Z])"

# Prefixes that their makers publish; what looks like a word or a name in code (hf_transfer, sk-attention) is none.
_TOKENS: Final = (
    r"hf_(?:[A-Za-z0-9]{20,}|(?=[A-Za-z0-9]{0,20}[0-9])(?=[A-Za-z0-9]{0,20}[A-Z])[A-Za-z0-9]{6,})",
    rf"hf_(?:oauth|jwt|app)_{_DIGIT_AHEAD}[\w.-]{{8,}}",
    r"api_org_[A-Za-z0-9]{16,}",
    rf"sk-(?:proj|ant|svcacct|admin|or|lf)-(?:{_DIGIT_AHEAD}[\w-]{{6,}}|[\w-]{{16,}})",
    rf"sk-(?:{_DIGIT_AHEAD}[\w-]{{4,}}|[A-Za-z0-9_]{{16,}})",
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_\w{16,}",
    r"gl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{10,}",
    r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}",
    r"xapp-[A-Za-z0-9-]{8,}",
    r"AIza[\w-]{20,}",
    rf"(?:nvapi|pypi|pplx|xai|csk)-{_DIGIT_AHEAD}[\w-]{{16,}}",
    r"pypi-AgE[\w-]{8,}",
    r"(?:gsk|npm|r8)_[A-Za-z0-9]{20,}",
    r"dop_v1_[A-Za-z0-9]{16,}",
    r"ya29\.[\w-]{10,}",
    r"ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}",
    # JSON Web Tokens, whole or clipped: base64 of an object begins with eyJ
    r"eyJ[\w-]{10,}(?:\.[\w-]+){0,4}",
)

_SCHEME: Final = r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{0,30}://)"
# A quote belongs to a password only where the word goes on behind it; a second :// is another URL.
_USERINFO_END: Final = r"(?:[^\s'\"<>:]|:(?!//)|['\"](?=\w))"

# A key block ends with its END line; clipped ones end with the text. A mere mention of the BEGIN line is no block.
_KEY_BLOCK: Final = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=\\+[nr]|\r?\n|\s{0,4}[A-Za-z0-9+/=]{16})"
    r"(?:[^-]|-(?!----(?:BEGIN|END)))*(?:-----END[A-Z0-9 ]{0,60}-----)?"
)
# "Bearer token missing" and "basic tokenizer" are prose: a credential has a digit or is long.
_BEARER: Final = r"(?i)\b(bearer\s{1,4})(?:(?=[\w.~+/=-]{0,15}[0-9])[\w.~+/=-]+|[\w.~+/=-]{16,})"
_BASIC: Final = (
    rf"\b([Bb]asic\s{{1,4}}){_MIXED_AHEAD}"
    r"(?:(?=[A-Za-z+/]{0,80}[0-9])[A-Za-z0-9+/]{8,}|[A-Za-z0-9+/]{16,})={0,2}"
)

_RULES: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (_KEY_BLOCK, MASK),
        # scheme://user:password@host, up to the last @ of the word; digits and a slash are a port, [ is an IPv6 host
        (rf"{_SCHEME}[^\s/@:'\"\[]{{0,100}}:(?![0-9]{{1,5}}[/?#]){_USERINFO_END}{{1,200}}@", rf"\1{MASK}@"),
        (rf"{_SCHEME}(?!(?:git|hg|svn)@)[^\s/@:'\"]{{1,300}}@", rf"\1{MASK}@"),
        (r"(?i)(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]+", rf"\1{MASK}"),
        (r"(?i)(discord(?:app)?\.com/api/webhooks/)[\w/-]+", rf"\1{MASK}"),
        (rf"{_START}(?:{'|'.join(_TOKENS)})", MASK),
        (_BEARER, rf"\1{MASK}"),
        (_BASIC, rf"\1{MASK}"),
    )
)


def without_shaped_secrets(text: str) -> str:
    """Return the text with everything masked that is a secret by its shape."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
