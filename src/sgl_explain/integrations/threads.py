"""Uncaught exceptions of other threads: `threading.excepthook`."""

import threading

from sgl_explain.integrations._guard import Undo, explanations_of, show_news


def hook_threads() -> Undo:
    """Explain exceptions that end a thread after the previous hook has shown them."""
    previous = threading.excepthook
    is_active = True

    def hook(arguments: threading.ExceptHookArgs, /) -> None:
        previous(arguments)
        if is_active and arguments.exc_value is not None:
            for explanation in explanations_of(arguments.exc_value):
                show_news(explanation)

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if threading.excepthook is hook:
            threading.excepthook = previous

    threading.excepthook = hook
    return undo
