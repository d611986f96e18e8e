"""What containers, launchers, terminals and log services put around a line; it is peeled from the left.

Wrappers sit outside one another: docker compose around journald around Ray. Only the one space that belongs to a
wrapper goes with it, so that the indentation of a traceback survives.
"""

import json
import re
from typing import Final, NamedTuple

MAX_LINE_CHARS: Final = 64_000
_MAX_LAYERS: Final = 6
_MAX_LABELS: Final = 256
_MAX_WRITERS: Final = 64
# Container runtimes cut lines at 16 KiB; Docker's json-file does not say so.
_RUNTIME_CUT_CHARS: Final = 16_000

# With or without the escape itself, which is lost where a log is pasted.
_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|(?<![\w\]])\[(?:[013]|1;3\d|3\d|9\d)m"
)
# tqdm ends no line, so that a log line may stand right behind a progress bar.
_PROGRESS_BAR: Final = re.compile(r"[^\[\]]{0,200}\|[^\[\]]{0,80}\[[^\[\]]{0,60}(?:it/s|s/it|B/s)[^\[\]]{0,80}\](?=.)")

_STAMP: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_SYSLOG: Final = (
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\[ *\d+\.\d+\]) [\w.-]+ (?P<unit>[\w.@\\/-]+(?:\[\d+\])?):"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:?\d\d [\w.-]+ (?P<process_unit>[\w.@\\/-]+\[\d+\]):"
)
_WRAPPER: Final = re.compile(
    r"(?P<compose>[\w.-]+[-_]\d+ +|[\w.-]+ {2,})\|(?: |$)"
    rf"|(?:{_SYSLOG})(?: |$)"
    rf"|{_STAMP} [\da-f]{{2}}[OE](?:[+ ]|$)"  # GitLab's job logs: stream, output or error, + for the rest of a line
    rf"|{_STAMP}(?: (?:stdout|stderr) (?P<cut>[FP]))?(?: |$)"  # containerd, CRI-O
    rf"|\[{_STAMP}\](?: |$)"
    r"|\[(?P<pod>pod/[^\]\s]+)\](?: |$)"
    r"|\((?P<ray>[^()]{0,80}(?:\([^()]{0,40}\))?[^()]{0,20}\bpid=\d+[^()]{0,60})\)(?: |$)"
    r"|\[(?P<process>rank\d+)\]: ?"
    r"|\[(?P<tee>default\d+)\]:"
    r"|\[(?P<slot>\d+,\d+)\]<std(?:out|err)>:? ?"
    r"|\d\d:\d\d:\d\d (?P<foreman>[\w.-]+) +\|(?: |$)"
    r"|(?P<supervisor>[\w.:-]+) std(?:out|err) \|(?: |$)"
    rf"|(?P<job>[^\t\n]{{1,120}}\t[^\t\n]{{1,120}})\t\ufeff?(?={_STAMP})"
    r"|(?P<loki>\{\w{1,60}=\"[^{}]{1,400}\"\}) "
)
_NAMES: Final = (
    "compose", "unit", "process_unit", "pod", "ray", "process", "tee", "slot", "foreman", "supervisor", "job", "loki",
)  # fmt: skip
_RAY_REPEAT: Final = re.compile(r"\s*\[repeated \d+x across cluster\](?:\s*\(Ray deduplicates.*)?$")

# Labels that could be words of a message: believed once one stood before what SGLang or Python surely wrote.
_LABEL: Final = re.compile(
    r" {0,4}(?P<task>\d{1,5}): "  # srun -l
    r"|(?P<host>[a-z][\w.]{0,60}[-\d][\w.-]{0,60}): "  # pdsh, clush, pssh
    r"|(?P<stern>[a-z\d]+(?:[-.][a-z\d]+)+ [a-z\d]+(?:-[a-z\d]+)*) "
    r"|(?P<stream>[\w.-]{1,80}(?:/[\w.-]{1,80}){1,6}) "  # aws logs tail
)
_SURE: Final = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]{0,60}\] ")
_HEADER: Final = "Traceback (most recent call last):"
_ESCAPED_TRACEBACK: Final = "Traceback (most recent call last):\\n"
_TEXT_KEYS: Final = (
    "log", "message", "msg", "MESSAGE", "@message", "textPayload", "line", "body", "exc_info", "exception",
    "stack_trace", "traceback",
)  # fmt: skip
_LEVEL_KEYS: Final = ("level", "levelname", "severity")


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


class Unwrapper:
    """Takes lines out of their wrappers; remembers the labels it has come to believe, and lines that were cut."""

    def __init__(self) -> None:
        self._labels: set[str] = set()
        self._cut_by_source: dict[tuple[str, str], str] = {}

    @property
    def waits(self) -> bool:
        """Whether the end of a cut line is still to come."""
        return bool(self._cut_by_source)

    def unwrap(self, raw: str) -> tuple[LogLine, ...]:
        """Return what a line holds: one line, several where a JSON string has line breaks, none of one that was cut."""
        line, is_cut = self._peeled(LogLine(_as_shown(raw)))
        line = self._joined("CRI", line, is_cut=is_cut)
        if is_cut:
            return ()
        unpacked = _unpacked(line)
        if unpacked is None:
            return (line,)
        is_cut = len(unpacked.text) >= _RUNTIME_CUT_CHARS and not unpacked.text.endswith("\n")
        unpacked = self._joined("Docker", unpacked, is_cut=is_cut)
        if is_cut:
            return ()
        first, *others = unpacked.text.split("\n")
        following = unpacked._replace(level=None, starts_record=False)
        parts = (unpacked._replace(text=first), *(following._replace(text=other) for other in others))
        return tuple(self._peeled(part._replace(text=_as_shown(part.text)))[0] for part in parts)

    def _peeled(self, line: LogLine) -> tuple[LogLine, bool]:
        """Return the line without the prefixes of those who passed it on, and whether one of them cut it."""
        text, names, rank, is_cut = line.text, [line.source] if line.source else [], line.rank, False
        for _ in range(_MAX_LAYERS):
            found = _WRAPPER.match(text)
            if found is None:
                label = self._label_of(text)
                if not label:
                    break
                names, text = [*names, label.strip(" :")], text[len(label) :]
                continue
            names += [name.strip() for name in found.group(*_NAMES) if name]
            rank, is_cut, text = found["process"] or rank, is_cut or found["cut"] == "P", text[found.end() :]
        text = _RAY_REPEAT.sub("", text) if "[repeated " in text else text
        return line._replace(text=text, source=" ".join(names), rank=rank), is_cut

    def _label_of(self, text: str) -> str:
        """Return the label before the text, if it is one that is believed."""
        found = _LABEL.match(text) if text[:1].isalnum() or text[:1] in " _" else None
        if found is None:
            return ""
        label = "task" if found["task"] else found[0]
        rest = _innermost(text[found.end() :])
        is_sure = _SURE.match(rest) or (not found["stern"] and rest.startswith(_HEADER))
        if is_sure and len(self._labels) < _MAX_LABELS:
            self._labels.add(label)
        return found[0] if label in self._labels else ""

    def _joined(self, runtime: str, line: LogLine, *, is_cut: bool) -> LogLine:
        """Put the pieces of a cut line together, within the bounds of a line; keep them where more is to come."""
        key = (runtime, line.source)
        piece = self._cut_by_source.pop(key, "") if self._cut_by_source else ""
        text = (piece + line.text)[:MAX_LINE_CHARS] if piece else line.text
        if is_cut and len(self._cut_by_source) < _MAX_WRITERS:
            self._cut_by_source[key] = text
        return line._replace(text=text)


def _innermost(text: str) -> str:
    """Return the text behind everything that could be a wrapper."""
    for _ in range(_MAX_LAYERS):
        found = _WRAPPER.match(text) or (_LABEL.match(text) if not _SURE.match(text) else None)
        if found is None:
            break
        text = text[found.end() :]
    return text


def _as_shown(text: str) -> str:
    """Return the text as a terminal leaves it: without escapes, byte-order mark, and what a carriage return erased."""
    text = text.rstrip("\r\n").lstrip("\ufeff")
    if "\r" in text:
        text = text.rpartition("\r")[2]
    text = text[:MAX_LINE_CHARS]
    if "\x1b" in text or "m(" in text:
        text = _ESCAPES.sub("", text)
    bar = _PROGRESS_BAR.match(text) if "it/s" in text or "s/it" in text else None
    return text[bar.end() :] if bar else text


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
    payload = record.get("jsonPayload")
    record = {**payload, **record} if isinstance(payload, dict) else record
    texts = [value for key in _TEXT_KEYS if isinstance(value := record.get(key), str)]
    if not texts:
        return None
    level = next((value for key in _LEVEL_KEYS if isinstance(value := record.get(key), str)), None)
    text = "\n".join(texts)
    text = text if len(text) >= _RUNTIME_CUT_CHARS else text.rstrip("\r\n")  # the end shows that Docker cut nothing
    return line._replace(text=text, level=level.upper() if level else None, starts_record=level is not None)
