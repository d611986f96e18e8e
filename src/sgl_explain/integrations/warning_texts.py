"""Errors that are swallowed into a warning: `warnings._showwarnmsg`.

The frontend's StreamExecutor (sglang/lang/interpreter.py) warns with the traceback of the exception that ended its
worker thread; nothing else shows it. A replaced `warnings.showwarning` would lose the allocation traceback that a
ResourceWarning carries, so the function that calls it is wrapped (CPython 3.10 to 3.13 look it up by this name,
Lib/warnings.py and Python/_warnings.c); where it is missing, this surface is left out.
"""

import warnings
from typing import Any

from sgl_explain.integrations._guard import Undo, show
from sgl_explain.integrations._texts import TRACEBACK, explain_text

_NAME = "_showwarnmsg"


def hook_warnings() -> Undo:
    """Explain warnings whose text holds a traceback, after they were shown."""
    previous = getattr(warnings, _NAME, None)
    if previous is None:
        return lambda: None
    is_active = True

    def show_message(message: Any) -> None:
        previous(message)
        if is_active:
            _explain(message)

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if getattr(warnings, _NAME) is show_message:
            setattr(warnings, _NAME, previous)

    setattr(warnings, _NAME, show_message)
    return undo


def _explain(message: Any) -> None:
    arguments = getattr(getattr(message, "message", None), "args", ())
    text = arguments[0] if arguments else None
    if isinstance(text, str) and TRACEBACK in text:
        for explanation in explain_text(text):
            show(explanation)
