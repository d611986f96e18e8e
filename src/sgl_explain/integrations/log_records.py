"""Errors that are logged: `logging.Logger.callHandlers`, wrapped on the class.

SGLang's children format their exception into a log message and are killed right after. A handler or filter would be
wiped by ``basicConfig(force=True)``, which SGLang calls twice, and a log-record factory runs before the record is
written, so that the explanation would stand above its traceback. What wraps ``callHandlers`` runs when every handler
is done, in the same thread, before the process can go on to its end.
"""

import logging
from collections.abc import Callable
from typing import Any

import wrapt

from sgl_explain.integrations._guard import Undo, is_off, never_in_the_way, show
from sgl_explain.integrations._texts import explain_text


def hook_log_records() -> Undo:
    """Explain records of level ERROR and above once every handler has written them."""
    is_active = True

    def call_handlers(wrapped: Callable[..., None], _: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        wrapped(*args, **kwargs)
        if is_active and not is_off():
            with never_in_the_way():
                _explain(args[0] if args else kwargs["record"])

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if logging.Logger.__dict__.get("callHandlers") is wrapper:
            logging.Logger.callHandlers = previous  # type: ignore[method-assign]  # what install() replaced

    previous = logging.Logger.callHandlers
    wrapper = wrapt.FunctionWrapper(previous, call_handlers)
    logging.Logger.callHandlers = wrapper  # type: ignore[method-assign]  # this is the hook
    return undo


def _explain(record: logging.LogRecord) -> None:
    if record.levelno < logging.ERROR:
        return
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    explanation = explain_text(record.getMessage(), error, in_sglang=record.name.partition(".")[0] == "sglang")
    # "Received sigquit from a child": the child has logged, and explained, its own failure
    if explanation is not None and not explanation.is_wrapper:
        show(explanation)
