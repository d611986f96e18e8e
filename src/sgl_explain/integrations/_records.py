"""What a log record says of an error, and how many texts of a busy log are looked at."""

import logging
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

_DIGITS: Final = re.compile(r"\d+")
_MAX_SEEN: Final = 256
_SEEN_CHARS: Final = 400
_MAX_A_SECOND: Final = 4


def error_of(record: logging.LogRecord) -> BaseException | None:
    """Return the exception that a record carries; structlog leaves it in its event, as logging's caller gave it."""
    given: object = record.exc_info
    if not given and isinstance(record.msg, Mapping):
        given = record.msg.get("exc_info")
    return exception_given(given)


def exception_given(exc_info: object) -> BaseException | None:
    """Return what is meant by an ``exc_info``: an exception, a triple, or true for the one being handled."""
    if exc_info is True:
        return sys.exc_info()[1]
    found = exc_info[1] if isinstance(exc_info, tuple) and len(exc_info) > 1 else exc_info
    return found if isinstance(found, BaseException) else None


def text_of(record: logging.LogRecord) -> str:
    """Return a record's message as a handler's formatter left it, so that the arguments are not formatted twice."""
    text = record.__dict__.get("message") or record.msg
    return text if isinstance(text, str) else ""


def is_of_sglang(record: logging.LogRecord) -> bool:
    """Tell whether SGLang's own code logged it."""
    return record.name.partition(".")[0] == "sglang"


class Recent:
    """Which texts were looked at lately, and how many in this second; texts that differ in digits are the same."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, str | None] = OrderedDict()
        self._second = 0
        self._count = 0

    def is_worth_a_look(self, text: str) -> bool:
        """Tell whether a text is new and there is time for it."""
        if not text or self.is_known(text) or not self.has_room():
            return False
        self.keep(text)
        return True

    def is_known(self, text: str) -> bool:
        return _folded(text) in self._seen

    def kept(self, text: str) -> str | None:
        """Return what was kept of a text."""
        return self._seen.get(_folded(text))

    def keep(self, text: str, found: str | None = None) -> None:
        """Remember a text, and what was found in it."""
        self._seen[_folded(text)] = found
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)

    def has_room(self) -> bool:
        """Count one more look, and tell whether this second has time for it."""
        second = int(time.monotonic())
        self._count = self._count + 1 if second == self._second else 1
        self._second = second
        return self._count <= _MAX_A_SECOND


def _folded(text: str) -> str:
    return _DIGITS.sub("#", text[:_SEEN_CHARS])
