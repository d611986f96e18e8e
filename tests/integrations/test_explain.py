"""``explain()`` around blocks, functions of every kind and generators: the very same exception, with its note."""

import asyncio
import inspect
import sys

import pytest

import sgl_explain
from sgl_explain.integrations.explain import explain

MESSAGE = (
    "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
    "but got speculative_num_draft_tokens=8."
)
needs_notes = pytest.mark.skipif(sys.version_info < (3, 11), reason="PEP 678 notes came with Python 3.11")


def sglang_error() -> ValueError:
    """An exception with a frame in a module called sglang."""
    names = {"__name__": "sglang.srt.arg_groups.speculative_hook"}
    exec("def _handle_dspark(message):\n    raise ValueError(message)", names)
    try:
        names["_handle_dspark"](MESSAGE)
    except ValueError as error:
        return error
    raise AssertionError("unreachable")


def fail():
    raise sglang_error()


class Engine:
    @explain
    def method(self, value):
        fail()

    @classmethod
    @explain
    def of_class(cls, value):
        fail()

    @staticmethod
    @explain
    def of_nobody(value):
        fail()


@explain
async def coroutine():
    fail()


@explain
def generator():
    received = yield 1
    assert received == "sent"
    fail()


@explain
async def async_generator():
    received = yield 1
    assert received == "sent"
    fail()


def run_generator():
    running = generator()
    assert next(running) == 1
    running.send("sent")


async def run_async_generator():
    running = async_generator()
    assert await running.asend(None) == 1
    await running.asend("sent")


CALLS = {
    "function": explain(fail),
    "called decorator": explain(show="note")(fail),
    "method": lambda: Engine().method(1),
    "classmethod": lambda: Engine.of_class(1),
    "staticmethod": lambda: Engine.of_nobody(1),
    "coroutine": lambda: asyncio.run(coroutine()),
    "generator": run_generator,
    "async generator": lambda: asyncio.run(run_async_generator()),
}


@needs_notes
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_escapes_carries_its_explanation_once(call):
    with pytest.raises(ValueError, match="DSpark") as caught:
        call()

    assert [note.startswith("sgl_explain: ") for note in caught.value.__notes__] == [True]


@needs_notes
def test_the_exception_is_the_very_same():
    error = sglang_error()

    with pytest.raises(ValueError, match="DSpark") as caught, explain():
        raise error

    assert caught.value is error


@needs_notes
def test_nested_blocks_explain_once():
    with pytest.raises(ValueError, match="DSpark") as caught, explain(), explain():
        fail()

    assert len(caught.value.__notes__) == 1


def test_show_stderr_prints_at_once(capsys):
    with pytest.raises(ValueError, match="DSpark"), explain(show="stderr"):
        fail()

    assert capsys.readouterr().err.startswith("sgl_explain: ")


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="newer Pythons have notes")
def test_without_notes_it_is_printed(capsys):
    with pytest.raises(ValueError, match="DSpark"), explain():
        fail()

    assert capsys.readouterr().err.startswith("sgl_explain: ")


def test_results_and_signatures_survive():
    @explain
    def add(one: int, other: int = 2) -> int:
        """Add."""
        return one + other

    assert (add(1), add.__doc__, str(inspect.signature(add))) == (3, "Add.", "(one: int, other: int = 2) -> int")


@pytest.mark.parametrize(
    ("function", "is_kind"),
    [
        (coroutine, inspect.iscoroutinefunction),
        (generator, inspect.isgeneratorfunction),
        (async_generator, inspect.isasyncgenfunction),
    ],
)
def test_a_decorated_function_is_still_of_its_kind(function, is_kind):
    assert is_kind(function)


def test_what_is_thrown_into_a_generator_reaches_it():
    @explain
    def catching():
        try:
            yield 1
        except KeyError:
            yield "caught"

    running = catching()
    next(running)

    assert running.throw(KeyError("x")) == "caught"


def test_what_is_thrown_into_an_async_generator_reaches_it():
    @explain
    async def catching():
        try:
            yield 1
        except KeyError:
            yield "caught"

    async def run():
        running = catching()
        await running.__anext__()
        return await running.athrow(KeyError("x"))

    assert asyncio.run(run()) == "caught"


def test_closing_an_async_generator_runs_its_clean_up():
    closed = []

    @explain
    async def open_resource():
        try:
            yield 1
        finally:
            closed.append(True)

    async def run():
        running = open_resource()
        await running.__anext__()
        await running.aclose()

    asyncio.run(run())

    assert closed == [True]


def test_an_unknown_way_to_show_is_refused():
    with pytest.raises(ValueError, match="it takes 'note' or 'stderr'"):
        explain(show="loudly")


def test_leaving_on_purpose_gets_no_note():
    with pytest.raises(KeyboardInterrupt) as caught, sgl_explain.explain():
        raise KeyboardInterrupt

    assert not getattr(caught.value, "__notes__", [])
