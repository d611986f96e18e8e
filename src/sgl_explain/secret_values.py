"""Values of secret names, found and masked in any text: logs, commands, JSON, reprs, HTTP headers, source lines.

One pass from left to right. A value's end is looked for once, from its start, and the pass goes on behind it, so the
cost is linear.
"""

import re
from typing import Final, Literal, NamedTuple

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
_NO_START_OF_A_FLAG: Final = tuple("})]`/.>*")  # the dash of f"a {size}-token page"
_IN_A_PAIR: Final = re.compile(r"\(\s{0,8}[bBuU]?\\{0,16}['\"]\Z")
# The rest of a quoted value. Inside stand \' and, from a shell or YAML, '"'"' and '\'' and ''.
_REST_BY_QUOTE: Final = {
    "'": re.compile(r"""(?:[^'\\\n]|\\.|'(?:"'"'|\\''|'(?=\w)))*'"""),
    '"': re.compile(r"""(?:[^"\\\n]|\\.|"(?:'"'"|\\""|"(?=\w)))*\""""),
}
_LINE: Final = re.compile(r"[^\n]*")
_HEADER_LINE: Final = re.compile(r"(?:[^\n\\]|\\(?!\\{0,8}[rn]))*")
_CALL_OR_LIST: Final = re.compile(r"(?:[A-Za-z_][\w.]*)?[\[({]")
_BRACKET_OR_QUOTE: Final = re.compile(r"[\[({\])}]|\\{0,16}['\"]")
# Punctuation belongs to a bare value where it goes on behind, and not with another name=.
_BARE: Final = re.compile(
    r"(?:[^\s,;)\]}'\"&\\]|[,;)\]}'\"&](?=[^\s,;)\]}'\"&\\])(?![\w.-]{1,60}=)|\\(?!\\{0,16}['\"]))+"
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|api-key|key|bot|jwt)[ \t]+(?=\S)", re.IGNORECASE)

_TRIPLE: Final = ("'''", '"""')
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_REFERENCE: Final = re.compile(r"(?:[A-Za-z_]+\.)+(?:[a-z]+_)*(?:api|access|secret|private)_(?:key|token)")

_LITERAL: Final = re.compile(r"(?:|none|null|nil|true|false|undefined|%[sdr]|\.{3}|\*+)", re.IGNORECASE)
_NUMBER_OR_MARK: Final = re.compile(r"[-+]?[0-9][0-9_.,]*|<.*>|\[[A-Z]+\]|(?:self|cls)\.[\w.]+")
_MACHINE_MADE: Final = re.compile(r"(?!/)(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w.~+/=-]{12,}")
_WORD: Final = re.compile(r"[A-Za-z]{0,15}|[A-Za-z]*(?:[_.-][A-Za-z]*)+")
_FLAG: Final = re.compile(r"--[a-z]+(?:[-_][a-z]+)*|-[a-z]")
_TYPE: Final = re.compile(r"(?:Optional|Union|[Ll]ist|[Tt]uple|[Dd]ict|Sequence|Mapping|Literal)\[")
# Words that follow a name in a sentence, as in "--api-key requires a value" or "api_key: str".
_PROSE: Final = re.compile(
    r"(?:a|an|the|this|that|your|you|it|is|are|was|were|be|been|has|have|had|do|does|did|can|cannot|could|may|might"
    r"|must|should|shall|will|would|need|needs|want|wants|take|takes|expect|expects|expected|accept|accepts"
    r"|require|requires|required|set|sets|unset|use|uses|used|give|given|provide|provided|specify|specified"
    r"|supplied|pass|passed|and|or|nor|but|not|no|if|when|while|because|since|then|as|of|on|in|to|for|from|by|at"
    r"|with|without|via|into|after|before|only|also|both|either|instead|too|differ|differs|conflict|conflicts"
    r"|match|matches|flag|option|argument|arguments|parameter|value|field|string|str|int|float|bytes|bool|any|got"
    r"|missing|invalid|incorrect|wrong|unknown|empty|ignored|allowed|denied|expired|failed|unable|error|please|see"
    r"|check|checks|there|which|input|permission|header|hidden|redacted|unrecognized|api)"
    r"[.,:;!?]?(?=[\s)\]'\"]|\Z)",
    re.IGNORECASE,
)
# What is read of a value whose name leaves it in doubt; a longer one is no ordinary value.
_DOUBT_CHARS: Final = 200


class _Tie(NamedTuple):
    """A name and what ties it to the value behind it."""

    found: re.Match[str]
    name: str
    secrecy: Secrecy

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-")

    @property
    def before(self) -> str:
        """What stands before the name; enough to see an opening quote and a bracket."""
        return self.found.string[max(0, self.found.start() - 32) : self.found.start()]


class _Value(NamedTuple):
    start: int
    end: int
    form: Literal["bare", "quoted", "bracketed"]


def without_named_secrets(text: str) -> str:
    """Return the text with the values of secret names masked."""
    kept: list[str] = []
    done = 0
    found = _NAMED.search(text)
    while found is not None:
        value = _secret_of(found)
        if value is not None:
            kept += (text[done : value.start], MASK)
            done = value.end
        found = _NAMED.search(text, max(done, found.end()))
    return "".join([*kept, text[done:]])


def _secret_of(found: re.Match[str]) -> _Value | None:
    tie = _tie(found)
    if tie.secrecy is Secrecy.NONE or not _is_tied(tie) or _is_told_about(tie):
        return None
    end = len(found.string)
    if tie.secrecy in (Secrecy.LIKELY, Secrecy.POSSIBLE):
        glimpse = min(end, found.end() + _DOUBT_CHARS)
        value = _value_at(tie, glimpse)
        if (value.form == "bracketed" or value.end < glimpse or glimpse == end) and _is_ordinary(tie, value):
            return None
    value = _value_at(tie, end)
    return None if _tells_nothing(tie, value) else value


def _tie(found: re.Match[str]) -> _Tie:
    text, start, name = found.string, found.start(), found["name"]
    before = text[start - 1] if start else ""
    # The n of a written-out \\n is no part of the name.
    if before == "\\" and name[0] in "nrt" and len(name) > 1:
        name = name[1:]
    if before in _NO_START_OF_A_FLAG:
        name = name.lstrip("-")
    secrecy = secrecy_of(name, in_query=before in ("?", "&")) if name else Secrecy.NONE
    # "the password is required" is said more often than "the password is x7".
    return _Tie(found, name, Secrecy.POSSIBLE if found["says"] and secrecy is not Secrecy.NONE else secrecy)


def _is_tied(tie: _Tie) -> bool:
    """Return whether what stands behind the name is its value, not the next of several names."""
    found = tie.found
    if found["blank"] is not None:
        return tie.is_flag
    if found["comma"] is None:
        return True
    is_header = tie.secrecy is Secrecy.HEADER or tie.name.lower().startswith("x-")
    is_key = tie.is_flag or is_header or _IN_A_PAIR.search(tie.before) is not None
    return bool(found["closed"]) and is_key and _OPENED.match(found.string, found.end()) is not None


def _is_told_about(tie: _Tie) -> bool:
    """Return whether prose or a type follows the name: what is said of the value, not the value."""
    text, start = tie.found.string, tie.found.end()
    # password=required may well be a password; "password: required" is a complaint.
    can_be_prose = not (tie.found["assign"] or "").endswith("=")
    return (can_be_prose and _PROSE.match(text, start) is not None) or _TYPE.match(text, start) is not None


def _value_at(tie: _Tie, stop: int) -> _Value:
    text, start = tie.found.string, tie.found.end()
    opened = _OPENED.match(text, start, stop)
    if opened is not None:
        return _quoted(opened, stop)
    if tie.secrecy is Secrecy.HEADER:
        return _header(tie, stop)
    if tie.is_flag and tie.found["assign"] is not None:
        end = _end_of_enclosing(tie, stop)
        if end is not None:
            return _Value(start, end, "bare")
    opening = _CALL_OR_LIST.match(text, start, stop)
    if opening is not None:
        return _Value(opening.end(), _end_of_brackets(text, opening.end(), stop), "bracketed")
    return _Value(start, _end(_BARE, text, start, stop), "bare")


def _end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return start if found is None else found.end()


def _end_of_enclosing(tie: _Tie, stop: int) -> int | None:
    """Return where the quotes close that hold name and value together, as in "Authorization: …"."""
    opening = _OPENING_QUOTE_BEFORE.search(tie.before)
    if opening is None or tie.found["closed"] is not None:
        return None
    return _end_of_quoted(tie.found.string, tie.found.end(), stop, opening[0])


def _header(tie: _Tie, stop: int) -> _Value:
    """Return a header's value: one word behind a scheme that takes one, else the line; the scheme stays."""
    text, start = tie.found.string, tie.found.end()
    scheme = _SCHEME.match(text, start, stop)
    if scheme is not None:
        return _Value(scheme.end(), _end(_BARE, text, scheme.end(), stop), "bare")
    end = _end_of_enclosing(tie, stop)
    return _Value(start, _end(_HEADER_LINE, text, start, stop) if end is None else end, "bare")


def _quoted(opened: re.Match[str], stop: int) -> _Value:
    text = opened.string
    end = _end_of_quoted(text, opened.end(), stop, opened[1])
    if end is None:  # cut off, or never closed
        return _Value(opened.end(), _end(_LINE, text, opened.end(), stop), "quoted")
    behind = end + len(opened[1])
    if text[behind : behind + 1].isalnum():  # a shell joins 'a'b
        return _Value(opened.start(), _end(_BARE, text, behind, stop), "quoted")
    return _Value(opened.end(), end, "quoted")


def _end_of_quoted(text: str, start: int, stop: int, quote: str) -> int | None:
    """Return where the closing quote stands: as many backslashes as the opening one has, and the same mark."""
    if quote in _REST_BY_QUOTE:
        found = _REST_BY_QUOTE[quote].match(text, start, stop)
        return None if found is None else found.end() - 1
    end = text.find(quote, start, stop)
    while end > start and text[end - 1] == "\\":
        end = text.find(quote, end + len(quote), stop)
    is_cut_off = end < 0 or (quote not in _TRIPLE and text.find("\n", start, end) >= 0)
    return None if is_cut_off else end


def _end_of_brackets(text: str, start: int, stop: int) -> int:
    """Return where the bracket closes that opens before the start; one that never does holds the rest."""
    depth, at = 1, start
    while (found := _BRACKET_OR_QUOTE.search(text, at, stop)) is not None:
        at = found.end()
        if found[0] in _CLOSING:
            depth -= 1
            if not depth:
                return found.start()
        elif found[0] in _OPENING:
            depth += 1
        else:
            end = _end_of_quoted(text, at, stop, found[0])
            if end is None:  # cut off, or an apostrophe
                return _end(_LINE, text, at, stop)
            at = end + len(found[0])
    return stop


def _tells_nothing(tie: _Tie, value: _Value) -> bool:
    """Return whether the value is none: a literal, another flag, a reference in source code."""
    words = tie.found.string[value.start : value.end]
    if _LITERAL.fullmatch(words.strip()) is not None:
        return True
    if tie.found["assign"] is None and value.form != "bracketed":
        return _FLAG.fullmatch(words) is not None
    if value.form != "bare":
        return False
    # Source code that hands a value on, as in api_key=server_args.api_key, tells nothing.
    return "_" in tie.name and (words == tie.name or _REFERENCE.fullmatch(words) is not None)


def _is_ordinary(tie: _Tie, value: _Value) -> bool:
    """Return whether a value reads like one that is no secret, where the name leaves it in doubt."""
    words = tie.found.string[value.start : value.end].rstrip(":.!")
    if value.form != "bracketed" and _NUMBER_OR_MARK.fullmatch(words) is not None:
        return True
    if tie.secrecy is Secrecy.POSSIBLE:
        return value.form == "bracketed" or _MACHINE_MADE.fullmatch(words) is None
    if value.form == "bracketed":
        return "'" not in words and '"' not in words
    return value.form == "bare" and _WORD.fullmatch(words) is not None
