"""``explain()``: a context manager, and a decorator for functions, methods, coroutines and generators of both kinds.

What escapes is the very same exception. It carries its explanation as a PEP 678 note, which its traceback then shows;
Python 3.10 has no notes, and the explanation is printed at once instead.
"""

import copy
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import cache, cached_property, partial
from importlib import import_module
from operator import attrgetter
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from sgl_explain.integrations._guard import explanations_of, show, within_budget

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
    explanations = explanations_of(error)
    if how == "stderr" or sys.version_info < (3, 11):
        for explanation in explanations:
            show(explanation)
        return
    for text in within_budget(lambda: list(map(_note, explanations))) or ():
        if isinstance(text, str):
            BaseException.add_note(error, text)


def _note(explanation: "Explanation") -> str:
    from sgl_explain.render.notes import note

    return note(explanation)


def _decorated(function: _F, explaining: Explaining) -> _F:
    _check_decorates(function)
    return cast("_F", _wrapper_type()(function, partial(_call, explaining)))


def _check_decorates(function: object) -> None:
    if isinstance(function, type):
        raise TypeError(f"explain cannot decorate the class {function.__name__}; decorate its methods instead")
    if isinstance(function, (property, cached_property)):
        name = type(function).__name__
        raise TypeError(f"explain cannot decorate a {name}; put @explain below @{name}, on the method itself")
    # a classmethod object and its like are not callable; they become so when they are bound
    if not (callable(function) or hasattr(function, "__get__")):
        raise TypeError(f"explain decorates functions and methods, not an object of type {type(function).__name__}")


class _ByName:
    """How a decorated function pickles and copies: as a plain one does, by its name."""

    def __reduce_ex__(self: Any, protocol: object) -> Any:
        if hasattr(self, "__qualname__"):
            return self.__qualname__
        # a partial or another object that can be called has no name, and is decorated anew
        return _decorated, (self.__wrapped__, *self._self_wrapper.args)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class _BoundByName(_ByName):
    """The same once it was looked up on an instance or a class: there it is made anew each time."""

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        if inspect.ismethod(self.__wrapped__):
            return self.__wrapped__.__reduce_ex__(protocol)
        return _look_up, (self.__module__, self.__qualname__)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        if inspect.ismethod(self.__wrapped__):
            return getattr(copy.deepcopy(self.__wrapped__.__self__, memo), self.__name__)
        return self


def _look_up(module: str, qualname: str) -> Any:
    return attrgetter(qualname)(import_module(module))


@cache
def _wrapper_type() -> Any:
    import wrapt  # waits: a with statement does not need it

    bound = type("Bound", (_BoundByName, wrapt.BoundFunctionWrapper), {})
    return type("Decorated", (_ByName, wrapt.FunctionWrapper), {"__bound_function_wrapper__": bound})


def _call(
    explaining: Explaining, wrapped: Callable[..., Any], _: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if inspect.iscoroutinefunction(wrapped):
        return _begun_when_awaited(partial(wrapped, *args, **kwargs), explaining)
    with explaining:
        result = wrapped(*args, **kwargs)
    if inspect.iscoroutine(result):
        return _named_after(result, _awaited(lambda: result, explaining))
    if inspect.isgenerator(result) and inspect.isgeneratorfunction(wrapped):
        # what types.coroutine marks is awaited, which a generator of ours could not be
        is_awaitable = result.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE
        return result if is_awaitable else _named_after(result, _generated(result, explaining))
    if inspect.isasyncgen(result) and inspect.isasyncgenfunction(wrapped):
        return _named_after(result, _generated_async(result, explaining))
    return result


def _begun_when_awaited(begin: "partial[Any]", explaining: Explaining) -> Any:
    """Return a coroutine that makes the inner one at its first step, so that none is left over if there is no step."""
    model: Any = begin.func
    if _only_makes_a_coroutine(model):
        model = begin()  # arguments that do not fit raise here and now, as they do undecorated
        model.close()
    return _named_after(model, _awaited(begin, explaining))


def _only_makes_a_coroutine(function: Any) -> bool:
    """Tell an ``async def`` from what is marked as one, or wraps one, and may do some work when it is called."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return type(function) is FunctionType and bool(function.__code__.co_flags & inspect.CO_COROUTINE)


def _named_after(model: Any, made: Any) -> Any:
    for name in ("__name__", "__qualname__"):
        setattr(made, name, getattr(model, name, getattr(made, name)))
    return made


async def _awaited(begin: Callable[[], Awaitable[Any]], explaining: Explaining) -> Any:
    with explaining:
        return await begin()


def _generated(generator: Generator[Any, Any, Any], explaining: Explaining) -> Generator[Any, Any, Any]:
    """Delegate by hand: ``yield from`` closes the inner generator where GeneratorExit is thrown in.

    Not kept: ``gi_frame``, ``gi_code`` and ``gi_yieldfrom`` are those of this one.
    """
    # what is passed on is taken out of here, so that this frame keeps neither values nor exceptions alive
    passing: list[Any] = [partial(generator.send, None)]
    with explaining:
        while True:
            try:
                passing.append(passing.pop()())
            except StopIteration as stop:
                return stop.value
            try:
                passing.append(partial(generator.send, (yield passing.pop())))
            except BaseException as thrown:  # noqa: BLE001 - what is thrown in belongs to the inner generator
                passing.append(partial(generator.throw, thrown))


async def _generated_async(generator: AsyncGenerator[Any, Any], explaining: Explaining) -> AsyncGenerator[Any, Any]:
    """The same for ``async for``; not kept: ``ag_frame``, ``ag_code`` and ``ag_await`` are those of this one."""
    passing: list[Any] = [partial(_first_step, generator)]
    with explaining:
        while True:
            try:
                passing.append(await passing.pop()())
            except StopAsyncIteration:
                return
            try:
                passing.append(partial(generator.asend, (yield passing.pop())))
            except BaseException as thrown:  # noqa: BLE001 - what is thrown in belongs to the inner generator
                passing.append(partial(generator.athrow, thrown))


def _first_step(generator: AsyncGenerator[Any, Any]) -> Awaitable[Any]:
    """Begin a generator of which no event loop is told: it would close it behind the back of the one handed out.

    https://peps.python.org/pep-0525/#finalization
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=None, finalizer=lambda _: None)
    try:
        return generator.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)
