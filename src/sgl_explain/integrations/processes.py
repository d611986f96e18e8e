"""Children of `multiprocessing`: how they fail, and how they come to be hooked.

A child prints the exception that ends it by ``traceback.print_exc()`` in ``BaseProcess._bootstrap`` and calls no
hook. A wrapper of ``run`` would add a line to that traceback, and subclasses have their own ``run``; so the printing
is watched. A forked child inherits our hooks. One that is spawned, or comes from a fork server, starts anew; what
reaches it is the process object, and in that the configuration which every process hands down to its children.
"""

import builtins
import functools
import sys
import traceback
from multiprocessing import process
from typing import Any, Final

from sgl_explain.integrations._guard import Undo, explanations_of, show_news

_NAME: Final = "sgl_explain"
# Must not fail where sgl_explain cannot be imported: it runs while the child reads its orders.
_ON_ARRIVAL: Final = (
    "__import__('importlib.util').util.find_spec('sgl_explain')"
    " and __import__('sgl_explain.integrations.processes', fromlist=['arrive']).arrive()"
)


def hook_processes() -> Undo:
    """Explain what ends a child process after its traceback, in the children of this process and in theirs."""
    undo_printing = _hook_printing()
    undo_handing_down = _hook_handing_down()

    def undo() -> None:
        undo_handing_down()
        undo_printing()

    return undo


def _hook_printing() -> Undo:
    previous = traceback.print_exc
    is_active = True

    @functools.wraps(previous)
    def print_exc(*args: Any, **kwargs: Any) -> None:
        previous(*args, **kwargs)
        if is_active and _ends_child(sys._getframe(1).f_code):  # noqa: SLF001 - the documented way to see the caller
            error = sys.exc_info()[1]
            if error is not None:
                for explanation in explanations_of(error):
                    show_news(explanation)

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if traceback.print_exc is print_exc:
            traceback.print_exc = previous

    traceback.print_exc = print_exc
    return undo


def _ends_child(caller: object) -> bool:
    return caller is process.BaseProcess._bootstrap.__code__  # type: ignore[attr-defined]  # noqa: SLF001 - see the module


class Hook:
    """Installs the explainer in the process that unpickles it, and is handed down from there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.eval, (_ON_ARRIVAL,)


def arrive() -> Hook | None:
    """Install in a child that has just been started, with its parent's search path; never raises."""
    try:
        from sgl_explain.integrations.installation import install  # waits: that module imports this one

        install()
    except BaseException:  # noqa: BLE001 - the child goes on as if we were not here
        return None
    return Hook()


def _hook_handing_down() -> Undo:
    # A copy of the current process's configuration is part of each process object (CPython 3.10 to 3.13).
    configuration = getattr(process.current_process(), "_config", None)
    if not isinstance(configuration, dict):
        return lambda: None
    configuration[_NAME] = Hook()
    return lambda: configuration.pop(_NAME, None) and None
