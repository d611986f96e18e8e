"""Uncaught exceptions of the main thread: `sys.excepthook`."""

import sys
from types import TracebackType

from sgl_explain.integrations._guard import Undo, explanations_of, show_news


def hook_excepthook() -> Undo:
    """Explain uncaught exceptions after the previous hook has shown them; the undo never displaces a later hook."""
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
