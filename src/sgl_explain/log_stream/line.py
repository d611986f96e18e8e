"""One line of a log, freed of its wrappers and of its logger's prefix.

SGLang's prefix: sglang/srt/utils/common.py ``configure_logger``, ``[%(asctime)s{ranks}]``.
"""

import re
from typing import Final

from sgl_explain.log_stream.wrapping import LogLine, Unwrapper

__all__ = ["LineReader", "LogLine", "log_lines"]

_MAX_LAYERS: Final = 6

_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
_CLOCK: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_DATE: Final = r"(?:\d{4}[-/])?\d\d[-/]\d\d"
_RANK: Final = r"(?:[A-Z][A-Z_]*\d+|gpu_id=\d+|encode_\w+(?:\[\d+\])?)"
_PLACE: Final = r"[\w./<>-]{1,120}\.(?:py|rs|cc|cpp|cu|hpp|h):\d+(?::\w+)?"
_LOGGER: Final = r"(?:[a-z_]\w*(?:(?:\.|::)[a-z_]\w*)*|__main__)"

_HEAD: Final = re.compile(
    rf"\[(?P<full>\d{{4}}-\d\d-\d\d )?(?:\d\d-\d\d )?{_CLOCK}(?P<ranks>(?: {_RANK})*)\](?: |$)"
    r"|\[(?P<gpu>gpu_id=\d+)\](?: |$)"
    rf"|\[?(?P<severity>[IWEF])\d{{3,4}} {_CLOCK}[^\]]{{0,80}}\](?: |$)"
    rf"|\[{_DATE} {_CLOCK}\](?=\[)"
    rf"|\[{_DATE} {_CLOCK} [+-]\d{{4}}\](?: \[\d+\])?(?: |$)"  # gunicorn
    r"|##\[(?P<annotation>error|warning)\]"  # GitHub Actions
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


class LineReader:
    """Reads lines one after the other; what earlier ones taught about their wrappers counts for the later ones."""

    def __init__(self) -> None:
        self._unwrapper = Unwrapper()

    @property
    def waits(self) -> bool:
        """Whether the end of a line that a container runtime cut is still to come."""
        return self._unwrapper.waits

    def read(self, raw: str) -> tuple[LogLine, ...]:
        """Return what a line of a log says: one line, several of a JSON string with line breaks, none of a cut one."""
        return tuple(map(_without_head, self._unwrapper.unwrap(raw)))


def log_lines(raw: str) -> tuple[LogLine, ...]:
    """Return what a line says by itself."""
    return LineReader().read(raw)


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
    level = found["annotation"].upper() if found["annotation"] else level
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
