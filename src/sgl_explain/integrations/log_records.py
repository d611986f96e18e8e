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

from sgl_explain.integrations._guard import Undo, explanations_of, is_off, show
from sgl_explain.integrations._records import Recent, error_of, is_of_sglang, text_of
from sgl_explain.integrations._texts import explain_text


def hook_log_records() -> Undo:
    """Explain records of level ERROR and above once every handler has written them.

    Bounded for busy servers: texts that differ in digits only are looked at once, and four others a second.
    """
    is_active = True
    recent = Recent()

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


def _explain(record: logging.LogRecord, recent: Recent) -> None:
    error = error_of(record)
    if error is not None:
        for explanation in explanations_of(error):
            show(explanation)
        return
    text = text_of(record)
    if not recent.is_worth_a_look(text):
        return
    for explanation in explain_text(text, in_sglang=is_of_sglang(record)):
        # "Received sigquit from a child": the child has logged, and explained, its own failure
        if not explanation.is_wrapper:
            show(explanation)
