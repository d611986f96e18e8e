"""Uncaught exceptions of the main thread: `sys.excepthook`."""

import sys
from contextlib import suppress
from types import TracebackType

from sgl_explain.integrations._guard import Undo, explanations_of, show_news


def hook_excepthook() -> Undo:
    """Explain uncaught exceptions after the previous hook has shown them; the undo never displaces a later hook."""
    _let_groups_be_shown()
    previous = sys.excepthook
    is_active = True

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        previous(kind, error, traceback)
        if is_active:
            for explanation in explanations_of(error):
                show_news(explanation)

    def undo() -> None:
        nonlocal is_active
        is_active = False
        # Someone may have wrapped our hook since; theirs then stays, and ours only passes on.
        if sys.excepthook is hook:
            sys.excepthook = previous

    sys.excepthook = hook
    return undo


def _let_groups_be_shown() -> None:
    """Import the backport of exception groups: it shows them only if it finds the interpreter's own hook in place."""
    if sys.version_info < (3, 11):
        with suppress(ImportError):
            import exceptiongroup  # noqa: F401 - for what it does to tracebacks, once the program imports it
