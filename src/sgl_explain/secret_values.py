"""Values of secret names, found and masked in any text: logs, commands, JSON, reprs, HTTP headers, source lines.

One pass from left to right. A value's end is looked for once, from its start, and the pass goes on behind it, so the
cost is linear.
"""

import re
from typing import Final, NamedTuple

from sgl_explain.secret_names import Secrecy, secrecy_of
from sgl_explain.secret_shapes import MASK

# A name and what ties it to its value: = or :, a blank behind a flag, a comma in a list or a pair.
_NAMED: Final = re.compile(
    r"""
    (?<![\w-])
    (?P<name>(?i:api|access|private|secret|auth)[ ](?i:key|token)|[\w-]+)
    (?:[ ](?:provided|given|supplied|used|sent|received|header|value)(?=[:=]))?
    (?P<closed>\\*['"])?\]?
    (?:
      (?P<assign>
        [ \t]*(?::[ ]*(?:Optional\[\w+\]|\w*[sS]tr|bytes|Any)(?:[ ]*\|[ ]*None)?[ ]*=(?!=)|!=|=>|[=:]{1,2})
        (?:\s*(?=[bBfFrRuU]{0,2}\\*['"])|[ \t]*)
      )
      |(?P<says>[ ](?:is|was)[ ])
      |(?P<comma>\s*,\s*)
      |(?P<blank>(?:\s|\\\r?\n)+)
    )
    """,
    re.VERBOSE,
)
_OPENED: Final = re.compile(r"[bBfFrRuU]{0,2}(\\*(?:'''|\"\"\"|['\"]))")
_OPENING_QUOTE_BEFORE: Final = re.compile(r"\\{0,16}['\"]\Z")
_IN_A_PAIR: Final = re.compile(r"\(\s{0,8}[bBuU]?\\{0,16}['\"]\Z")
# The rest of a quoted value. Inside stand \' and, from a shell or YAML, '"'"' and '\'' and ''.
_REST_BY_QUOTE: Final = {
    "'": re.compile(r"""(?:[^'\\\n]|\\.|'(?:"'"'|\\''|'(?=\w)))*'"""),
    '"': re.compile(r"""(?:[^"\\\n]|\\.|"(?:'"'"|\\""|"(?=\w)))*\""""),
}
_LINE: Final = re.compile(r"[^\n]*")
_HEADER_LINE: Final = re.compile(r"(?:[^\n\\]|\\(?!\\{0,8}[rn]))*")
_CALL_OR_LIST: Final = re.compile(r"(?:[A-Za-z_][\w.]*)?[\[({]")
_BRACKET_OR_QUOTE: Final = re.compile(r"[\[({\])}]|\\*['\"]")
# Punctuation belongs to a bare value where it goes on behind, and not with another name=.
_BARE: Final = re.compile(
    r"(?:[^\s,;)\]}'\"&\\]|[,;)\]}'\"&](?=[^\s,;)\]}'\"&\\])(?![\w.-]{1,60}=)|\\(?!\\{0,16}['\"]))+"
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|api-key|key|bot|jwt)[ \t]+(?=\S)", re.IGNORECASE)

_LITERAL: Final = re.compile(r"(?:|none|null|nil|true|false|undefined|\*+)", re.IGNORECASE)
_NUMBER_OR_MARK: Final = re.compile(r"[-+]?[0-9][0-9_.,]*|<.*>|\[[A-Z]+\]")
_MACHINE_MADE: Final = re.compile(r"(?!/)(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w.~+/=-]{12,}")
_WORD: Final = re.compile(r"[A-Za-z]{0,15}|[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_FLAG: Final = re.compile(r"--[a-z]+(?:[-_][a-z]+)*|-[a-z]")
_TYPE: Final = re.compile(r"(?:Optional|Union|[Ll]ist|[Tt]uple|[Dd]ict|Sequence|Mapping|Literal)\[")
_PROSE: Final = frozenset(
    # one string, since a word a line would be a screen of them
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "your",
        "you",
        "it",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "can",
        "cannot",
        "could",
        "may",
        "might",
        "must",
        "should",
        "shall",
        "will",
        "would",
        "need",
        "needs",
        "want",
        "wants",
        "take",
        "takes",
        "expect",
        "expects",
        "expected",
        "accept",
        "accepts",
        "require",
        "requires",
        "required",
        "set",
        "sets",
        "unset",
        "use",
        "uses",
        "used",
        "give",
        "given",
        "provide",
        "provided",
        "specify",
        "specified",
        "supplied",
        "pass",
        "passed",
        "and",
        "or",
        "nor",
        "but",
        "not",
        "no",
        "if",
        "when",
        "while",
        "because",
        "since",
        "then",
        "as",
        "of",
        "on",
        "in",
        "to",
        "for",
        "from",
        "by",
        "at",
        "with",
        "without",
        "via",
        "into",
        "after",
        "before",
        "only",
        "also",
        "both",
        "either",
        "instead",
        "too",
        "differ",
        "differs",
        "conflict",
        "conflicts",
        "match",
        "matches",
        "flag",
        "option",
        "argument",
        "arguments",
        "parameter",
        "value",
        "field",
        "string",
        "str",
        "int",
        "bytes",
        "bool",
        "any",
        "got",
        "missing",
        "invalid",
        "incorrect",
        "wrong",
        "unknown",
        "empty",
        "ignored",
        "allowed",
        "denied",
        "expired",
        "failed",
        "unable",
        "error",
        "please",
        "see",
        "check",
        "there",
        "which",
        "input",
        "permission",
        "header",
        "hidden",
        "redacted",
        "unrecognized",
    ]
)


class _Value(NamedTuple):
    start: int
    end: int
    form: str  # "bare", "quoted" or "bracketed"


def without_named_secrets(text: str) -> str:
    """Return the text with the values of secret names masked."""
    kept: list[str] = []
    done = 0
    found = _NAMED.search(text)
    while found is not None:
        value = _secret_of(text, found)
        if value is not None:
            kept += (text[done : value.start], MASK)
            done = value.end
        found = _NAMED.search(text, max(done, found.end()))
    return "".join([*kept, text[done:]])


def _secret_of(text: str, found: re.Match[str]) -> _Value | None:
    start, name = found.start(), _name_in(text, found)
    secrecy = secrecy_of(name, in_query=start > 0 and text[start - 1] in "?&")
    if secrecy is Secrecy.NONE or not _is_tied(text, found, name, secrecy):
        return None
    value = _value_at(text, found, name, secrecy)
    return None if _is_ordinary(text, value, found, name, secrecy) else value


def _name_in(text: str, found: re.Match[str]) -> str:
    name = found["name"]
    # The n of a written-out \n is no part of the name.
    escaped = found.start() > 0 and text[found.start() - 1] == "\\"
    return name[1:] if escaped and name[0] in "nrt" and len(name) > 1 else name


def _is_tied(text: str, found: re.Match[str], name: str, secrecy: Secrecy) -> bool:
    """Return whether what stands behind the name is its value, not the next of several names."""
    is_flag = name.startswith("-")
    if found["blank"] is not None:
        return is_flag
    if found["comma"] is None:
        return True
    before = text[max(0, found.start() - 32) : found.start()]
    is_key = is_flag or secrecy is Secrecy.HEADER or name.lower().startswith("x-") or _IN_A_PAIR.search(before)
    return bool(found["closed"] and is_key and _OPENED.match(text, found.end()))


def _value_at(text: str, found: re.Match[str], name: str, secrecy: Secrecy) -> _Value:
    start = found.end()
    opened = _OPENED.match(text, start)
    if opened is not None:
        return _quoted(text, opened)
    enclosing = _OPENING_QUOTE_BEFORE.search(text[max(0, found.start() - 17) : found.start()])
    if enclosing is not None and found["closed"] is None and (name.startswith("-") or secrecy is Secrecy.HEADER):
        end = _end_of_quoted(text, start, enclosing[0])
        if found["blank"] is None and end is not None:
            return _header(text, start, end) if secrecy is Secrecy.HEADER else _Value(start, end, "bare")
    if secrecy is Secrecy.HEADER:
        return _header(text, start, _end(_HEADER_LINE, text, start))
    opening = _CALL_OR_LIST.match(text, start)
    if opening is not None:
        return _Value(opening.end(), _end_of_brackets(text, opening.end()), "bracketed")
    return _Value(start, _end(_BARE, text, start), "bare")


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _header(text: str, start: int, end: int) -> _Value:
    """Return a header's value: one word behind a scheme that takes one, else the line; the scheme stays."""
    scheme = _SCHEME.match(text, start, end)
    return (
        _Value(start, end, "bare") if scheme is None else _Value(scheme.end(), _end(_BARE, text, scheme.end()), "bare")
    )


def _quoted(text: str, opened: re.Match[str]) -> _Value:
    end = _end_of_quoted(text, opened.end(), opened[1])
    if end is None:  # cut off, or never closed
        return _Value(opened.end(), _end(_LINE, text, opened.end()), "quoted")
    behind = end + len(opened[1])
    if text[behind : behind + 1].isalnum():  # a shell joins 'a'b
        return _Value(opened.start(), _end(_BARE, text, behind), "quoted")
    return _Value(opened.end(), end, "quoted")


def _end_of_quoted(text: str, start: int, quote: str) -> int | None:
    """Return where the closing quote stands: as many backslashes as the opening one has, and the same mark."""
    if quote in _REST_BY_QUOTE:
        found = _REST_BY_QUOTE[quote].match(text, start)
        return None if found is None else found.end() - 1
    line_end = len(text) if quote in ("'''", '"""') else _end(_LINE, text, start)
    end = text.find(quote, start, line_end)
    while end > start and text[end - 1] == "\\":
        end = text.find(quote, end + len(quote), line_end)
    return None if end < 0 else end


def _end_of_brackets(text: str, start: int) -> int:
    depth, at = 1, start
    for _ in text[start:]:
        found = _BRACKET_OR_QUOTE.search(text, at)
        if found is None:
            return len(text)
        at = found.end()
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        else:
            at = _behind_quoted(text, at, found[0])
        if depth == 0:
            return found.start()
    return len(text)


def _behind_quoted(text: str, start: int, quote: str) -> int:
    end = _end_of_quoted(text, start, quote)
    return start if end is None else end + len(quote)


def _is_ordinary(text: str, value: _Value, found: re.Match[str], name: str, secrecy: Secrecy) -> bool:
    """Return whether the value tells nothing: a literal, prose, a type, another flag, a reference in source code."""
    words = text[value.start : value.end]
    if _LITERAL.fullmatch(words.strip()) is not None:
        return True
    if value.form == "bare" and _is_said(words, found, name):
        return True
    if value.form == "bracketed" and _TYPE.match(text, found.end()) is not None:
        return True
    match Secrecy.POSSIBLE if found["says"] else secrecy:
        case Secrecy.LIKELY:
            return _is_likely_ordinary(words, value.form)
        case Secrecy.POSSIBLE:
            return value.form == "bracketed" or _MACHINE_MADE.fullmatch(words) is None
        case _:
            return False


def _is_said(words: str, found: re.Match[str], name: str) -> bool:
    first = words.split(None, 1)[0]
    if first.rstrip(".,:;!?").lower() in _PROSE:
        return True
    if found["assign"] is None:
        return _FLAG.fullmatch(words) is not None
    # Source code that hands a value on, as in api_key=server_args.api_key, tells nothing.
    return "_" in name and (words == name or re.fullmatch(rf"(?:[A-Za-z_]\w*\.)+{re.escape(name)}", words) is not None)


def _is_likely_ordinary(words: str, form: str) -> bool:
    if form == "bracketed":
        return "'" not in words and '"' not in words
    if _NUMBER_OR_MARK.fullmatch(words) is not None:
        return True
    return form == "bare" and _WORD.fullmatch(words) is not None
