"""Installing all surfaces of this process, and taking them out again."""

from contextlib import ExitStack
from typing import Final

from sgl_explain.integrations._guard import Undo, is_off

_installed: Final[list[ExitStack]] = []


def install() -> Undo:
    """Explain this process's errors from now on; return what takes it out again.

    Hooks uncaught exceptions (of the main thread, of others, of multiprocessing's children), logged errors, warnings
    that carry a traceback, SGLang's command-line errors and, when running in it, IPython. Idempotent: a second call
    changes nothing. Does nothing when ``SGL_EXPLAIN=0``.
    """
    if not _installed and not is_off():
        _install()
    return uninstall


def uninstall() -> None:
    """Take out every surface that `install` put in. Hooks that others installed later stay as they are."""
    while _installed:
        _installed.pop().close()


def _install() -> None:
    from sgl_explain.integrations.argument_errors import hook_argument_errors
    from sgl_explain.integrations.excepthook import hook_excepthook
    from sgl_explain.integrations.ipython import hook_running_ipython
    from sgl_explain.integrations.log_records import hook_log_records
    from sgl_explain.integrations.processes import hook_processes
    from sgl_explain.integrations.threads import hook_threads
    from sgl_explain.integrations.warning_texts import hook_warnings

    undos = ExitStack()
    _installed.append(undos)
    for hook in (
        hook_excepthook, hook_threads, hook_processes, hook_log_records, hook_warnings, hook_argument_errors,
        hook_running_ipython,
    ):  # fmt: skip
        undos.callback(hook())
