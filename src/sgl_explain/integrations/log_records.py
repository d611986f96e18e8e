"""Errors that are logged: `logging.Logger.callHandlers`, wrapped on the class.

SGLang's children format their exception into a log message and are killed right after. A handler or filter would be
wiped by ``basicConfig(force=True)``, which SGLang calls twice, and a log-record factory runs before the record is
written, so that the explanation would stand above its traceback. What wraps ``callHandlers`` runs when every handler
is done, in the same thread, before the process can go on to its end.
"""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import wrapt

from sgl_explain.integrations._guard import Undo, explain_error, is_off, show
from sgl_explain.integrations._texts import explain_text

_DIGITS: Final = re.compile(r"\d+")
_MAX_SEEN: Final = 256
_SEEN_CHARS: Final = 400
_MAX_A_SECOND: Final = 4


def hook_log_records() -> Undo:
    """Explain records of level ERROR and above once every handler has written them.

    Bounded for busy servers: texts that differ in digits only are looked at once, and four others a second.
    """
    is_active = True
    recent = _Recent()

    def call_handlers(wrapped: Callable[..., None], _: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        wrapped(*args, **kwargs)
        record = args[0] if args else kwargs["record"]
        if record.levelno >= logging.ERROR and is_active and not is_off():
            _explain(record, recent)

    # Frames of this file count as logging's own, so that recipes which look for the logging call find the caller.
    call_handlers.__code__ = call_handlers.__code__.replace(co_filename=logging.addLevelName.__code__.co_filename)

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if logging.Logger.__dict__.get("callHandlers") is wrapper:
            logging.Logger.callHandlers = previous  # type: ignore[method-assign]  # what install() replaced

    previous = logging.Logger.callHandlers
    wrapper = wrapt.FunctionWrapper(previous, call_handlers)
    logging.Logger.callHandlers = wrapper  # type: ignore[method-assign]  # this is the hook
    return undo


class _Recent:
    """Which texts were looked at lately, and how many in this second."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._second = 0
        self._count = 0

    def is_worth_a_look(self, text: str) -> bool:
        key = _DIGITS.sub("#", text[:_SEEN_CHARS])
        if key in self._seen or not self._has_room():
            return False
        self._seen[key] = None
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)
        return True

    def _has_room(self) -> bool:
        second = int(time.monotonic())
        self._count = self._count + 1 if second == self._second else 1
        self._second = second
        return self._count <= _MAX_A_SECOND


def _explain(record: logging.LogRecord, recent: _Recent) -> None:
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if error is not None:
        show(explain_error(error))
        return
    # what a handler's formatter left, so that the arguments are not formatted twice
    text = record.__dict__.get("message") or record.msg
    if not isinstance(text, str) or not recent.is_worth_a_look(text):
        return
    explanation = explain_text(text, in_sglang=record.name.partition(".")[0] == "sglang")
    # "Received sigquit from a child": the child has logged, and explained, its own failure
    if explanation is not None and not explanation.is_wrapper:
        show(explanation)
