"""Secrets and home folders, masked before anything is kept, matched or shown."""

import re
from typing import Final

from sgl_explain.secret_names import Secrecy, secrecy_of
from sgl_explain.secret_shapes import MASK, without_shaped_secrets
from sgl_explain.secret_values import without_named_secrets

__all__ = ["MASK", "redacted", "redacted_argv"]

_PART: Final = r"[\w.+-]{1,60}"
_USER: Final = r"[^\\/\s'\":,;()\[\]{}<>|&`]+(?: [A-Z][\w.-]{0,30}(?=[\\/]))?"
_DRIVE_OR_SHARE: Final = rf"(?:[a-z]:|\\{{2,4}}[\w.$-]{{1,60}}(?:\\{{1,4}}{_PART}){{0,3}})"
# A path is read from its start, so that what stands before the home folder goes with it; addresses are no
# paths, and a compiler's -I/home/… is one.
_PATH_START: Final = r"(?:(?<![\w.~])|(?<=-[ILB])|(?<=-isystem))(?<!:/)"
_HOMES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i)(?<![\w~]){_DRIVE_OR_SHARE}[\\/]{{1,4}}(?:Users|home)[\\/]{{1,4}}{_USER}",
        rf"{_PATH_START}(?:/{_PART}){{0,8}}/(?:home[0-9]{{0,2}}|homes|Users)/{_USER}",
        rf"{_PATH_START}(?:/{_PART}){{0,4}}/(?:nfs|mnt|data|export|lustre|gpfs|fsx|scratch)/users/{_USER}",
        r"(?<![\w.~/])/root(?=/)",
        r"(?i)(?:%2F[\w.+-]{1,60}){0,8}%2F(?:home|Users)%2F[\w.+-]+",
    )
)
_ASSIGNED: Final = re.compile(r"(-{0,2}[A-Za-z_][\w-]*)=(?=.)", re.DOTALL)
# A mask may lay bare the start of what stood right behind it; ordinary text takes one pass.
_PASSES: Final = 4
_SECRET: Final = (Secrecy.CERTAIN, Secrecy.HEADER)


def redacted(text: str) -> str:
    """Return the text with credentials masked and home folders written as ``~``.

    Credentials are tokens known by their shape (``hf_…``, ``sk-…``), passwords in URLs, private keys, and the values
    of names such as ``--api-key``, ``HF_TOKEN``, ``Authorization`` or ``ssl_keyfile_password``.
    """
    for _ in range(_PASSES):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str) -> str:
    text = without_shaped_secrets(text)
    for home in _HOMES:
        text = home.sub("~", text)
    # Last, since where a value ends depends on what stands behind it.
    return without_named_secrets(text)


def redacted_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command's words masked; what follows a secret flag is masked whatever it is.

    A flag in the plural, as ``--api-keys``, may take several words: all up to the next flag are masked.
    """
    masked: list[str] = []
    flag = ""
    for word in argv:
        is_value = bool(flag)
        masked.append(MASK if is_value else _redacted_word(word))
        flag = _flag_behind(flag, word)
    return tuple(masked)


def _flag_behind(flag: str, word: str) -> str:
    """Return the secret flag to which the next word belongs, if it does."""
    if word.startswith("-") and "=" not in word and secrecy_of(word) in _SECRET:
        return word
    return flag if flag.endswith("s") and not word.startswith("-") else ""


def _redacted_word(word: str) -> str:
    assigned = _ASSIGNED.match(word)
    if assigned is not None and secrecy_of(assigned[1]) in _SECRET:
        return f"{assigned[0]}{MASK}"
    return redacted(word)
