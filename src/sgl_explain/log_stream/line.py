"""One line of a log, freed of what loggers, containers and terminals wrapped around it.

Wrappers sit outside one another: docker compose around journald around Ray around SGLang's own prefix. They are
peeled from the left, and only the one space that belongs to a wrapper goes with it, so that the indentation of a
traceback survives. SGLang's prefix: sglang/srt/utils/common.py ``configure_logger``, ``[%(asctime)s{ranks}]``.
"""

import json
import re
from typing import Final, NamedTuple

MAX_LINE_CHARS: Final = 64_000
_MAX_LAYERS: Final = 6

_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
_CLOCK: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_DATE: Final = r"(?:\d{4}[-/])?\d\d[-/]\d\d"
_RANK: Final = r"(?:[A-Z][A-Z_]*\d+|gpu_id=\d+|encode_\w+(?:\[\d+\])?)"
_PLACE: Final = r"[\w./<>-]{1,120}\.(?:py|rs|cc|cpp|cu|hpp|h):\d+(?::\w+)?"
_LOGGER: Final = r"(?:[a-z_]\w*(?:(?:\.|::)[a-z_]\w*)*|__main__)"

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# tqdm ends no line, so that a log line may stand right behind a progress bar.
_PROGRESS_BAR: Final = re.compile(r"[^\[\]]{0,200}\|[^\[\]]{0,80}\[[^\[\]]{0,60}(?:it/s|s/it|B/s)[^\[\]]{0,80}\](?=.)")
_WRAPPER: Final = re.compile(
    r"(?P<compose>[\w.-]+[-_]\d+ +|[\w.-]+ {2,})\|(?: |$)"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?: (?:stdout|stderr) [FP])?(?: |$)"
    r"|\[(?P<pod>pod/[^\]\s]+)\](?: |$)"
    r"|\((?P<ray>[^()]{0,80}(?:\([^()]{0,40}\))?[^()]{0,20}\bpid=\d+[^()]{0,60})\)(?: |$)"
    r"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}) [\w.-]+"
    r" (?P<unit>[\w.@\\/-]+\[\d+\]):(?: |$)"
    r"|\[(?P<process>rank\d+)\]: ?"
    r"|\[(?P<tee>default\d+)\]:"
    r"|\[(?P<slot>\d+,\d+)\]<std(?:out|err)>:? ?"
)
_RAY_REPEAT: Final = re.compile(r"\s*\[repeated \d+x across cluster\](?:\s*\(Ray deduplicates.*)?$")
_HEAD: Final = re.compile(
    rf"\[(?P<full>\d{{4}}-\d\d-\d\d )?(?:\d\d-\d\d )?{_CLOCK}(?P<ranks>(?: {_RANK})*)\](?: |$)"
    r"|\[(?P<gpu>gpu_id=\d+)\](?: |$)"
    rf"|\[?(?P<severity>[IWEF])\d{{3,4}} {_CLOCK}[^\]]{{0,80}}\](?: |$)"
    rf"|\[{_DATE} {_CLOCK}\](?=\[)"
    rf"|{_DATE}[ T]{_CLOCK}Z?(?: - | \| |\] ?|: ?| |$)"
    rf"|(?= ?\[?{_LEVEL}(?:[\]: ]|$))"
)
_EXTRA: Final = re.compile(
    rf"[ ]{{0,2}}[\[(]?(?P<level>{_LEVEL})\b[\])]?(?: - | \| |: *| +|\]|$|(?=\[))"
    rf"|(?:{_DATE} {_CLOCK})\]?(?: |$)"
    rf"|\[(?:{_PLACE}|{_LOGGER}[.:]\w[\w.:]*)\](?::| -)?(?: |$|(?=\[))"
    rf"|{_PLACE}(?: - | \| |[\]:] ?| |$)"
    rf"|(?:sglang\w*|uvicorn|ray|transformers|torch|vllm|root|__main__)(?:(?:\.|::)[a-z_]\w*)*(?: - | \| |: ?)"
    rf"|{_LOGGER}(?::\w+)*(?: - | \| )"
    r"|(?:- |\| )"
)
_NATIVE: Final = re.compile(r"[\w.-]+:\d+:\d+ \[\d+\] (?:\S+:\d+ )?(?=NCCL (?P<level>WARN))")
_SEVERITIES: Final = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
_ESCAPED_TRACEBACK: Final = "Traceback (most recent call last):\\n"


class LogLine(NamedTuple):
    """What one line says, and what its prefixes say about it.

    ``source`` names the writer as far as wrappers tell (compose service, pod, Ray actor, unit, torchrun rank);
    ``starts_record`` says that a logger's prefix stands before the text, so that it continues nothing.
    """

    text: str
    source: str = ""
    rank: str | None = None
    level: str | None = None
    starts_record: bool = False
    of_sglang: bool = False


def log_lines(raw: str) -> tuple[LogLine, ...]:
    """Return what a line of a log says: one line, or several where a JSON string holds line breaks."""
    line = _without_wrappers(LogLine(_as_shown(raw[:MAX_LINE_CHARS])))
    unpacked = _unpacked(line)
    if unpacked is None:
        return (_without_head(line),)
    first, *others = unpacked.text.split("\n")
    following = unpacked._replace(level=None, starts_record=False)
    parts = (unpacked._replace(text=first), *(following._replace(text=other) for other in others))
    return tuple(_without_head(_without_wrappers(part._replace(text=_as_shown(part.text)))) for part in parts)


def is_wrapped(raw: str) -> bool:
    """Tell whether someone passed the line on and put a prefix before the logger's, such as docker compose."""
    return _WRAPPER.match(raw) is not None or raw[:1] in ("{", '"', "\ufeff", "\x1b")


def _as_shown(text: str) -> str:
    """Return the text as a terminal leaves it: without escapes, byte-order mark, and what a carriage return erased."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = text.rstrip("\r\n").lstrip("\ufeff")
    if "\r" in text:
        text = text.rpartition("\r")[2]
    bar = _PROGRESS_BAR.match(text) if "it/s" in text or "s/it" in text else None
    return text[bar.end() :] if bar else text


def _without_wrappers(line: LogLine) -> LogLine:
    """Return the line without the prefixes of those who passed it on; their names become its source."""
    found = _WRAPPER.match(line.text)
    if found is None:
        return line
    end, names, rank = 0, [line.source] if line.source else [], line.rank
    for _ in range(_MAX_LAYERS):
        if found is None:
            break
        end = found.end()
        names += [found[found.lastgroup].strip()] if found.lastgroup else []
        rank = found["process"] or rank
        found = _WRAPPER.match(line.text, end)
    text = line.text[end:]
    text = _RAY_REPEAT.sub("", text) if "[repeated " in text else text
    return line._replace(text=text, source=" ".join(names), rank=rank)


def _unpacked(line: LogLine) -> LogLine | None:
    """Return the line that a JSON record, a JSON string or an escaped traceback holds; None if it is none of these."""
    text = line.text
    if text[:1] in ("{", '"') and text.rstrip()[-1:] in ("}", '"') and len(text) > 1:
        return _from_json(line)
    if _ESCAPED_TRACEBACK in text:
        return line._replace(text=text.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'"))
    return None


def _from_json(line: LogLine) -> LogLine | None:
    try:
        value = json.loads(line.text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str):
        return line._replace(text=value.rstrip("\r\n"))
    return _from_record(line, value) if isinstance(value, dict) else None


def _from_record(line: LogLine, record: dict[str, object]) -> LogLine | None:
    """Return the message of a structured log record, its traceback behind it; HTTP error bodies stay as they are."""
    if record.get("object") == "error" or "error" in record or {"type", "code"} <= record.keys():
        return None
    texts = [value for key in _TEXT_KEYS if isinstance(value := record.get(key), str)]
    if not texts:
        return None
    level = record.get("level", record.get("levelname", record.get("severity")))
    named = level.upper() if isinstance(level, str) else None
    return line._replace(text="\n".join(texts).rstrip("\r\n"), level=named, starts_record=named is not None)


_TEXT_KEYS: Final = ("log", "message", "msg", "exc_info", "exception", "stack_trace", "traceback")


def _without_head(line: LogLine) -> LogLine:
    """Return the line without its logger's prefix, and what that prefix says: rank, level."""
    found = _HEAD.match(line.text)
    if found is None:
        native = _NATIVE.match(line.text)
        return line._replace(text=line.text[native.end() :], level="WARN", starts_record=True) if native else line
    end, level = _after_extras(line.text, found.end())
    full, ranks, gpu, severity = found.group("full", "ranks", "gpu", "severity")
    rank = ranks.strip() if ranks else gpu
    level = _SEVERITIES[severity] if severity else level or line.level
    return LogLine(line.text[end:], line.source, rank or line.rank, level, True, bool(full or rank))


def _after_extras(text: str, start: int) -> tuple[int, str | None]:
    """Where the message begins behind level, logger and place, which stand there in any order; and the level."""
    level: str | None = None
    end = start
    for _ in range(_MAX_LAYERS):
        found = _EXTRA.match(text, end)
        if found is None or found.end() == end:
            break
        if found["level"] and level:
            break
        level, end = level or found["level"], found.end()
    native = _NATIVE.match(text, end)
    return (native.end(), "WARN") if native else (end, level)
