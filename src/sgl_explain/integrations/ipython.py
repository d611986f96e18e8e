"""IPython and Jupyter: ``%load_ext sgl_explain``, ``sgl_explain.install()`` in a cell, ``%explain``.

``showtraceback`` and ``showsyntaxerror`` are wrapped on the shell itself: ``set_custom_exc`` misses ``%run``, and a
``sys.excepthook`` set inside a cell is gone when the cell ends.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sgl_explain.integrations._guard import Undo, explanations_of, show, show_by, within_budget

if TYPE_CHECKING:
    from sgl_explain.explanation import Explanation

_METHODS: Final = ("showtraceback", "showsyntaxerror")
_undo_by_shell: Final[dict[int, Undo]] = {}


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext sgl_explain`` runs: explain errors of cells, and define ``%explain``."""
    hook_ipython(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext sgl_explain`` runs: restore the shell, and the process if `install` hooked it."""
    from sgl_explain.integrations.installation import uninstall

    uninstall()
    undo = _undo_by_shell.get(id(shell))
    if undo is not None:
        undo()


def hook_running_ipython() -> Undo:
    """Hook the IPython shell this process runs in, if it runs in one; imports nothing."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    return hook_ipython(shell) if shell is not None else lambda: None


def hook_ipython(shell: Any) -> Undo:
    """Explain what a shell shows tracebacks of, after it has shown them. Idempotent for the same shell."""
    if id(shell) in _undo_by_shell:
        return _undo_by_shell[id(shell)]
    undos = [_wrap(shell, name) for name in _METHODS]
    show_by(_display)
    shell.register_magic_function(lambda _: _explain_last(), magic_kind="line", magic_name="explain")

    def undo() -> None:
        _undo_by_shell.pop(id(shell), None)
        show_by(None)
        for undo_one in undos:
            undo_one()
        shell.magics_manager.magics["line"].pop("explain", None)

    _undo_by_shell[id(shell)] = undo
    return undo


def _wrap(shell: Any, name: str) -> Undo:
    previous: Callable[..., Any] = getattr(shell, name)
    was_own = name in vars(shell)
    is_active = True

    def method(*args: Any, **kwargs: Any) -> Any:
        # the shell's own look-up, before it runs: showing the traceback changes what sys.exc_info() says
        error = _shown_error(args, kwargs) if is_active else None
        result = previous(*args, **kwargs)
        for explanation in explanations_of(error) if error is not None else ():
            show(explanation)
        return result

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if vars(shell).get(name) is not method:
            return
        if was_own:
            setattr(shell, name, previous)
        else:
            delattr(shell, name)

    setattr(shell, name, method)
    return undo


def _shown_error(args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
    given = kwargs.get("exc_tuple") or next((arg for arg in args if isinstance(arg, tuple)), None)
    error = given[1] if given else sys.exc_info()[1]
    return error if isinstance(error, BaseException) else getattr(sys, "last_value", None)


def _display(explanation: "Explanation", *, full: bool = False) -> None:
    """Show HTML and text in one output; a terminal shell gets the terminal form."""
    from IPython import get_ipython
    from IPython.display import display

    is_notebook = getattr(get_ipython(), "kernel", None) is not None
    forms = within_budget(lambda: _forms(explanation, full=full, is_notebook=is_notebook))
    if forms is None:
        return
    if is_notebook:
        display(forms, raw=True)  # type: ignore[no-untyped-call]  # IPython has no types here
    else:
        print(forms["text/plain"])


def _forms(explanation: "Explanation", *, full: bool, is_notebook: bool) -> dict[str, str]:
    from sgl_explain.render.choose import text_for
    from sgl_explain.render.page import full_html, short_html
    from sgl_explain.render.plain import full_text, short_text

    if not is_notebook:
        return {"text/plain": text_for(explanation, sys.stdout, full=full)}
    text, html = (full_text, full_html) if full else (short_text, short_html)
    return {"text/plain": text(explanation), "text/html": html(explanation)}


def _explain_last() -> None:
    """The ``%explain`` magic: the whole page for the last error of this session."""
    from sgl_explain.diagnosis import diagnose

    error = getattr(sys, "last_value", None)
    if error is None:
        print("No error has happened yet in this session.")
        return
    explanation = diagnose(error)
    if explanation is None:
        print("Nothing in the knowledge base accounts for the last error.")
        return
    _display(explanation, full=True)
