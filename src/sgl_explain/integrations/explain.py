"""``explain()``: a context manager, and a decorator for functions, methods, coroutines and generators of both kinds.

What escapes is the very same exception. It carries its explanation as a PEP 678 note, which its traceback then shows;
Python 3.10 has no notes, and the explanation is printed at once instead.
"""

import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from sgl_explain.integrations._guard import explain_error, show, within_budget

if TYPE_CHECKING:
    from sgl_explain.explanation import Explanation

Show = Literal["note", "stderr"]
_F = TypeVar("_F", bound=Callable[..., Any])


class Explaining:
    """What ``explain()`` returns: use it in a ``with`` statement, or call it to decorate."""

    def __init__(self, how: Show) -> None:
        self._how: Show = how

    def __enter__(self) -> "Explaining":  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        if error is not None:
            _attach(error, self._how)
        return False

    def __call__(self, function: _F) -> _F:
        return _decorated(function, self)


@overload
def explain(function: _F, /) -> _F: ...
@overload
def explain(*, show: Show = ...) -> Explaining: ...
def explain(function: Callable[..., Any] | None = None, /, *, show: Show = "note") -> Any:
    """Explain what escapes a block or a function.

    ``with explain():`` and ``@explain`` add the explanation to the exception as a note (printed at once on Python
    3.10); ``show="stderr"`` prints it at once everywhere. Raises ValueError for another ``show``.
    """
    if show not in ("note", "stderr"):
        raise ValueError(f"show is {show!r}; it takes 'note' or 'stderr'")
    explaining = Explaining(show)
    return explaining if function is None else explaining(function)


def _attach(error: BaseException, how: Show) -> None:
    explanation = explain_error(error)
    if explanation is None:
        return
    if how == "stderr" or sys.version_info < (3, 11):
        show(explanation)
        return
    text = within_budget(lambda: _note(explanation))
    if isinstance(text, str):
        BaseException.add_note(error, text)


def _note(explanation: "Explanation") -> str:
    from sgl_explain.render.notes import note

    return note(explanation)


def _decorated(function: _F, explaining: Explaining) -> _F:
    import wrapt  # waits: a with statement does not need it

    def call(wrapped: Callable[..., Any], _: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with explaining:
            result = wrapped(*args, **kwargs)
        if inspect.iscoroutine(result):
            return _awaited(result, explaining)
        if inspect.isgenerator(result) and inspect.isgeneratorfunction(wrapped):
            return _generated(result, explaining)
        if inspect.isasyncgen(result) and inspect.isasyncgenfunction(wrapped):
            return _generated_async(result, explaining)
        return result

    return cast("_F", wrapt.FunctionWrapper(function, call))


async def _awaited(coroutine: Coroutine[Any, Any, Any], explaining: Explaining) -> Any:
    with explaining:
        return await coroutine


def _generated(generator: Generator[Any, Any, Any], explaining: Explaining) -> Generator[Any, Any, Any]:
    with explaining:
        return (yield from generator)


async def _generated_async(generator: AsyncGenerator[Any, Any], explaining: Explaining) -> AsyncGenerator[Any, Any]:
    """Pass on what is sent and thrown in, as ``yield from`` does where it is allowed."""
    with explaining:
        try:
            advance = generator.asend(None)
            while True:
                try:
                    item = await advance
                except StopAsyncIteration:
                    return
                try:
                    advance = generator.asend((yield item))
                except GeneratorExit:
                    raise
                except BaseException as thrown:  # noqa: BLE001 - what is thrown in belongs to the inner generator
                    advance = generator.athrow(thrown)
        finally:
            await generator.aclose()
