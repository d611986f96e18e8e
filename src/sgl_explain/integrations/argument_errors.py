"""Errors of the command line: `argparse.ArgumentParser.error`, which leaves by ``SystemExit(2)`` past every hook."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import wrapt

from sgl_explain.integrations._guard import Undo, explained_safely, is_off, show, within_budget

if TYPE_CHECKING:
    from sgl_explain.explanation import Explanation


def hook_argument_errors() -> Undo:
    """Explain what an argument parser of SGLang rejects, after argparse has printed it and before it exits."""
    is_active = True

    def error(wrapped: Callable[..., NoReturn], _: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        try:
            wrapped(*args, **kwargs)
        finally:
            message = args[0] if args else kwargs.get("message")
            if is_active and isinstance(message, str) and not is_off() and _called_from_sglang():
                show(within_budget(lambda: _explained(message)))

    def undo() -> None:
        nonlocal is_active
        is_active = False
        if argparse.ArgumentParser.__dict__.get("error") is wrapper:
            argparse.ArgumentParser.error = previous  # type: ignore[method-assign]  # what install() replaced

    previous = argparse.ArgumentParser.error
    wrapper = wrapt.FunctionWrapper(previous, error)
    argparse.ArgumentParser.error = wrapper  # type: ignore[method-assign]  # this is the hook
    return undo


def _explained(message: str) -> "Explanation | None":
    from dataclasses import replace

    from sgl_explain.environment import current_context
    from sgl_explain.evidence import Evidence, Raised, clipped

    context = replace(current_context(), sglang_in_picture=True, phase="arguments")
    return explained_safely(Evidence((Raised(("SystemExit",), clipped(message)),), context))


def _called_from_sglang() -> bool:
    """Whether SGLang's code is parsing; a user's own parser in a program that imports SGLang is not ours."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to look up the stack without building it
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("sglang", "sglang_router"):
            return True
        if _is_main_of_sglang(frame.f_globals):
            return True
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    return False


def _is_main_of_sglang(names: dict[str, Any]) -> bool:
    spec = names.get("__spec__")
    return getattr(spec, "name", "").partition(".")[0] == "sglang"
