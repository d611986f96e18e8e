"""The forms in which ``scan`` tells what it finds: text for people, JSON Lines, SARIF, GitHub annotations."""

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Literal

from sgl_explain import __version__
from sgl_explain.cli.story import Story
from sgl_explain.cli.streams import print_json
from sgl_explain.explanation import Explanation
from sgl_explain.findings import Findings, Role
from sgl_explain.render.record import record

_GRAVE: Final[tuple[Role, ...]] = ("cause", "other")


@dataclass(frozen=True, slots=True)
class Log:
    """A log that is being told: its name (``-`` for standard input), and whether it is one of several."""

    name: str
    is_one_of_many: bool = False
    around_print: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext

    @property
    def file(self) -> str:
        """The file's name; empty for standard input."""
        return "" if self.name == "-" else self.name


class Teller:
    """Tells one log: `add` each failure as it comes, `sum_up` where the log ends; `finish` ends all logs of a run."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.findings = Findings()

    @property
    def has_explained(self) -> bool:
        """Whether anything was explained so far."""
        return self.findings.has_explained

    def add(self, explanation: Explanation) -> None:
        """Take the next failure."""
        self.findings.add(explanation)

    def sum_up(self) -> None:
        """Say what the log comes to."""

    @staticmethod
    def finish(tellers: Sequence["Teller"]) -> None:
        """Say what can only be said of all logs together."""


class TextTeller(Teller):
    """The story of a log, for a person; with several logs, under the name of each."""

    _told_last: Log | None = None

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._story = Story(sys.stdout, log.around_print)

    @property
    def has_explained(self) -> bool:
        return self._story.has_explained

    def add(self, explanation: Explanation) -> None:
        self._name_log()
        self._story.add(explanation)

    def sum_up(self) -> None:
        self._name_log()
        self._story.sum_up()
        if not self.has_explained:
            print("Nothing in this log is explained by the knowledge base.")

    def _name_log(self) -> None:
        if self.log.is_one_of_many and TextTeller._told_last is not self.log:
            with self.log.around_print():
                print(f"== {self.log.name}", flush=True)
        TextTeller._told_last = self.log


class JsonTeller(Teller):
    """A JSON object a line, at once; its ``role`` is the part that the failure plays."""

    def add(self, explanation: Explanation) -> None:
        role = self.findings.add(explanation)
        if role != "unknown":
            where = {"file": self.log.name} if self.log.is_one_of_many else {}
            print_json(json.dumps({**record(explanation), "role": role, **where}, ensure_ascii=False))
            sys.stdout.flush()


class GithubTeller(Teller):
    """A GitHub annotation for each distinct failure, at once; one for each kind of consequence."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._noted: set[str | None] = set()

    def add(self, explanation: Explanation) -> None:
        role = self.findings.add(explanation)
        if role in _GRAVE:
            self._print(explanation, "error")
        elif role in ("consequence", "harmless") and explanation.id not in self._noted:
            self._noted.add(explanation.id)
            self._print(explanation, "notice")

    def _print(self, explanation: Explanation, level: Literal["error", "notice"]) -> None:
        from sgl_explain.render.github import annotation  # waits: only this form needs it

        print(annotation(explanation, level, self.log.file), flush=True)


class SarifTeller(Teller):
    """One SARIF document for all logs, in the end: each distinct failure once, with its count."""

    @staticmethod
    def finish(tellers: Sequence[Teller]) -> None:
        from sgl_explain.render.sarif import Result, document  # waits: only this form needs it

        results: list[Result] = []
        for teller in tellers:
            found, file = teller.findings, teller.log.file
            results += [(item.explanation, "error", item.times, file) for item in found.failures.values()]
            others = (*found.consequences.values(), *found.harmless.values())
            results += [(item.explanation, "note", item.times, file) for item in others]
        print_json(document(results, __version__))


TELLER_BY_FORMAT: Final[dict[str, type[Teller]]] = {
    "text": TextTeller, "json": JsonTeller, "sarif": SarifTeller, "github": GithubTeller,
}  # fmt: skip
