"""What a value that argparse could not use was meant to be: a plain number, or JSON that a shell took apart."""

import json
import re
import shlex
from typing import Final

_GROUPED: Final = re.compile(r"\d{1,3}(?:[,_' ]\d{3})+")
_BARE_WORD: Final = re.compile(r"(?<![\w\".-])(?!(?:true|false|null)\b)[A-Za-z_][\w./-]*")
_UNITS: Final = {"k": 1024, "m": 1024**2}


def as_number(text: str, *, is_int: bool) -> str:
    """Return the plain number that a text means (``80%``, ``8,192``, ``8k``); empty if it means none."""
    plain = text.strip(" '\"").lower()
    if _GROUPED.fullmatch(plain):
        return re.sub(r"\D", "", plain)
    if found := re.fullmatch(r"(\d+)\.0*", plain):
        return found[1]
    if found := re.fullmatch(r"(\d+)([km])", plain):
        return str(int(found[1]) * _UNITS[found[2]])
    if not is_int and (found := re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", plain)):
        return f"{float(found[1]) / 100:g}"
    if not is_int and re.fullmatch(r"\d+,\d+", plain):
        return plain.replace(",", ".")
    return plain if plain != text and re.fullmatch(r"\d+(?:\.\d+)?", plain) else ""


def as_one_word(text: str) -> str:
    """Return a value that a shell took apart as a fix sets it: JSON with its double quotes back, other text quoted.

    Empty where it begins like JSON and cannot be made JSON.
    """
    if text[:1] not in ("{", "["):
        return shlex.quote(text)
    candidates = (text, text.replace("'", '"'), _BARE_WORD.sub(lambda word: f'"{word[0]}"', text))
    return next((candidate for candidate in candidates if _is_json(candidate)), "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
