"""Errors that are swallowed into a warning: `warnings.showwarning`.

The frontend's StreamExecutor (sglang/lang/interpreter.py) warns with the traceback of the exception that ended its
worker thread; nothing else shows it.
"""

import warnings
from typing import TextIO

from sgl_explain.integrations._guard import Undo, never_in_the_way, show
from sgl_explain.integrations._texts import TRACEBACK, explain_text


def hook_warnings() -> Undo:
    """Explain warnings whose text holds a traceback, after they were shown."""
    previous = warnings.showwarning
    is_active = True

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        previous(message, category, filename, lineno, file, line)
        if is_active:
            with never_in_the_way():
                _explain(str(message))

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if warnings.showwarning is showwarning:
            warnings.showwarning = previous

    warnings.showwarning = showwarning
    return undo


def _explain(text: str) -> None:
    if TRACEBACK in text:
        show(explain_text(text))
