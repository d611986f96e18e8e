"""What a log says in passing about the server that wrote it: release, command, phase, and that it is SGLang at all.

The phase lines stand in SGLang's model_runner.py, memory_pool.py, cuda_graph_setup.py and metrics_reporter.py, worded
alike from 0.4.6.post5 to 0.5.23.
"""

import re
import shlex
from typing import Final

from sgl_explain.log_stream.line import LogLine
from sgl_explain.log_stream.server_args import command_in
from sgl_explain.redact import redacted_argv

_MAX_SOURCES: Final = 256
_MAX_COMMAND_CHARS: Final = 8_000
_PHASES: Final = (
    ("prefill batch", "prefill"),
    ("decode batch", "decode"),
    ("load weight begin", "load"),
    ("load weight end. committed", "serving"),  # the weights came in after the graphs
    ("load weight end", "kv_pool"),
    ("kv cache is allocated", "kv_pool"),
    ("kv cache allocated", "kv_pool"),
    ("weights online from disk begin", "load"),
    ("update weights end", "serving"),
    ("memory pool end", "kv_pool"),
    ("fired up and ready", "serving"),
)
_CAPTURE: Final = re.compile(r"capture .{0,40}?(begin|end)\.")
_RELEASE: Final = re.compile(
    r"\bsglang(?:[ _-]version)?['\"]?\s{0,20}(?:==|[:=-])?\s{0,20}['\"]?v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)?)",
    re.IGNORECASE,
)
# A usage hint such as ``sglang serve --model-path <model> [options]`` is nobody's command.
_COMMAND: Final = re.compile(
    r"(?:\S{0,200}python[\d.]* (?:-\w )?-m sglang\.launch_server|\bsglang serve) (?![^\n]*<\w+>)(?=[^\n]*--model)[^\n]*"
)


class LogFacts:
    """What was told so far. The phase is kept for each writer, as far as lines say who wrote them."""

    def __init__(self) -> None:
        self.sglang_in_picture = False
        self.release: str | None = None
        self._typed_command: tuple[str, ...] = ()
        self._command_of_arguments: tuple[str, ...] = ()
        self._phase_by_source: dict[str, str] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """The launch command: as it was typed, or else as the server's arguments spell it out."""
        return self._typed_command or self._command_of_arguments

    def phase_of(self, source: str) -> str | None:
        """Return the phase in which a writer was last seen."""
        return self._phase_by_source.get(source)

    def notice(self, line: LogLine) -> None:
        """Take in what a line tells, if anything."""
        lower = line.text.lower()
        named = "sglang" in lower
        self.sglang_in_picture = self.sglang_in_picture or line.of_sglang or named or "sglang" in line.source.lower()
        self.notice_phase(line.source, lower)
        if named:
            self._notice_launch(line.text)
        if line.text.startswith("server_args="):
            self._command_of_arguments = redacted_argv(command_in(line.text))

    def notice_phase(self, source: str, lower: str) -> None:
        """Take in the phase of which a line, given in lower case, tells."""
        phase = _phase_in(lower)
        if phase is not None and (source in self._phase_by_source or len(self._phase_by_source) < _MAX_SOURCES):
            self._phase_by_source[source] = phase

    def _notice_launch(self, text: str) -> None:
        release = _RELEASE.search(text)
        self.release = release[1] if release else self.release
        command = _COMMAND.search(text[:_MAX_COMMAND_CHARS])
        self._typed_command = _words(command[0]) if command else self._typed_command


def _phase_in(lower: str) -> str | None:
    for words, phase in _PHASES:
        if words in lower:
            return phase
    capture = _CAPTURE.search(lower) if "capture " in lower else None
    if capture is None:
        return None
    return "graph_capture" if capture[1] == "begin" else "serving"


def _words(command: str) -> tuple[str, ...]:
    try:
        return redacted_argv(tuple(shlex.split(command)))
    except ValueError:
        return ()
