"""``explain()`` around blocks, functions of every kind and generators: the very same exception, with its note."""

import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import pickle
import subprocess
import sys
import types
import warnings

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


def outcome(call, *args):
    """What a call returns or raises, in a form that compares."""
    try:
        return "returned", call(*args)
    except BaseException as error:
        return "raised", type(error), str(error), type(error.__cause__), type(error.__context__)


async def awaited_outcome(awaitable):
    try:
        return "returned", await awaitable
    except BaseException as error:
        return "raised", type(error), str(error), type(error.__cause__), type(error.__context__)


def observed(use, decorate):
    """What a use of decorated, or undecorated, functions yields, and which warnings come with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = use(decorate)
        gc.collect()
    return result, [str(warning.message) for warning in caught]


def left_alone(function):
    return function


USES = {}


def use(function):
    USES[function.__name__] = function
    return function


@use
def a_coroutine_closed_before_its_first_step(decorate):
    @decorate
    async def work():
        return 1

    work().close()


@use
def a_coroutine_never_awaited(decorate):
    @decorate
    async def work():
        return 1

    work()


@use
def a_task_cancelled_before_its_first_step(decorate):
    @decorate
    async def work():
        await asyncio.sleep(1)

    async def cancel():
        task = asyncio.create_task(work())
        task.cancel()
        return await awaited_outcome(task)

    return asyncio.run(cancel())


@use
def a_coroutine_function_with_wrong_arguments(decorate):
    @decorate
    async def work(one):
        return one

    return outcome(work), outcome(functools.partial(work, 1), 2)


@use
def names(decorate):
    @decorate
    async def work(): ...

    @decorate
    def numbers():
        yield 1

    @decorate
    async def async_numbers():
        yield 1

    made = work(), numbers(), async_numbers()
    made[0].close()
    return [(item.__name__, item.__qualname__) for item in made]


@use
def a_function_marked_by_types_coroutine(decorate):
    @decorate
    @types.coroutine
    def work():
        yield
        return 3

    async def wait():
        return await work()

    return asyncio.run(wait())


@use
def generator_exit_that_is_caught_to_yield(decorate):
    @decorate
    def numbers():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    thrown_into, closed = numbers(), numbers()
    next(thrown_into)
    next(closed)
    return outcome(thrown_into.throw, GeneratorExit()), outcome(closed.close)


@use
def generator_exit_that_is_caught_to_return(decorate):
    @decorate
    def numbers():
        try:
            yield 1
        except GeneratorExit:
            return 7

    thrown_into, closed = numbers(), numbers()
    next(thrown_into)
    next(closed)
    return outcome(thrown_into.throw, GeneratorExit()), outcome(closed.close)


@use
def what_is_sent_thrown_and_returned(decorate):
    @decorate
    def numbers():
        try:
            received = yield 1
        except KeyError:
            received = yield 2
        try:
            yield received
        except StopIteration:
            yield 4
        return 5

    running = numbers()
    steps = [next(running), running.throw(KeyError("x")), running.send(3), running.throw(StopIteration())]
    return steps, outcome(next, running), outcome(next, running)


@use
def errors_that_follow_a_caught_one(decorate):
    @decorate
    def numbers():
        with contextlib.suppress(KeyError):
            yield 1
        raise ValueError("after it was handled")

    running = numbers()
    next(running)
    return outcome(running.throw, KeyError("x"))


@use
def stop_iteration_from_within(decorate):
    @decorate
    def numbers():
        yield 1
        next(iter(()))

    running = numbers()
    next(running)
    return outcome(next, running)


def use_async(function):
    USES[function.__name__] = lambda decorate: asyncio.run(function(decorate))
    return function


@use_async
async def async_generator_exit_that_is_caught_to_yield(decorate):
    @decorate
    async def numbers():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    thrown_into, closed = numbers(), numbers()
    await thrown_into.__anext__()
    await closed.__anext__()
    outcomes = await awaited_outcome(thrown_into.athrow(GeneratorExit())), await awaited_outcome(closed.aclose())
    await awaited_outcome(thrown_into.__anext__())
    await awaited_outcome(closed.__anext__())
    return outcomes


@use_async
async def async_generator_exit_that_is_caught_to_return(decorate):
    @decorate
    async def numbers():
        try:
            yield 1
        except GeneratorExit:
            return

    thrown_into, closed = numbers(), numbers()
    await thrown_into.__anext__()
    await closed.__anext__()
    return await awaited_outcome(thrown_into.athrow(GeneratorExit())), await awaited_outcome(closed.aclose())


@use_async
async def what_is_sent_and_thrown_asynchronously(decorate):
    @decorate
    async def numbers():
        try:
            received = yield 1
        except KeyError:
            received = yield 2
        try:
            yield received
        except StopAsyncIteration:
            yield 4
        raise ValueError("after it was handled")

    running = numbers()
    steps = [await running.asend(None), await running.athrow(KeyError("x")), await running.asend(3)]
    steps.append(await running.athrow(StopAsyncIteration()))
    return steps, await awaited_outcome(running.asend(None)), await awaited_outcome(running.asend(None))


@use
def async_generators_left_to_the_end_of_the_loop(decorate):
    steps, problems, left = [], [], []

    @decorate
    async def numbers():
        try:
            yield 1
        finally:
            steps.append("begins to clean up")
            await asyncio.sleep(0)
            steps.append("has cleaned up")

    async def leave():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))
        for _ in range(5):
            left.append(numbers())
            await left[-1].__anext__()

    asyncio.run(leave())
    return sorted(steps), problems


@use
def copies(decorate):
    def work(): ...

    decorated = decorate(work)
    return copy.copy(decorated) is decorated, copy.deepcopy([decorated])[0] is decorated


@use
def copies_of_bound_methods(decorate):
    class Counter:
        def __init__(self):
            self.counts = [0]

        @decorate
        def add(self):
            self.counts[0] += 1

        @classmethod
        @decorate
        def name(cls):
            return cls.__name__

    counter = Counter()
    copied, deep = copy.copy(counter.add), copy.deepcopy({"self": counter, "add": counter.add})
    copied()
    deep["add"]()
    deep["add"]()
    return counter.counts, deep["self"].counts, copy.deepcopy(Counter.name)()


@pytest.mark.parametrize("name", USES)
def test_a_decorated_function_behaves_as_the_undecorated_one(name):
    assert observed(USES[name], explain) == observed(USES[name], left_alone)


class Marked:
    """Claims to be a coroutine function, and counts its calls."""

    def __init__(self):
        self.calls = 0

    async def _work(self):
        return self.calls

    def __call__(self):
        self.calls += 1
        return self._work()


def test_what_returns_a_coroutine_is_called_once():
    marked = Marked()

    assert asyncio.run(explain(marked)()) == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="markcoroutinefunction came with Python 3.12")
def test_what_is_marked_as_a_coroutine_function_is_called_once():
    calls = []

    @explain
    @inspect.markcoroutinefunction
    def work():
        calls.append(1)
        return asyncio.sleep(0)

    asyncio.run(work())

    assert calls == [1]


def test_a_suspended_generator_keeps_nothing_alive():
    class Value: ...

    @explain
    def echo():
        yield Value()
        while True:
            with contextlib.suppress(KeyError):
                yield

    running = echo()
    next(running)
    running.send(Value())
    running.throw(KeyError(Value()))

    assert not [item for item in gc.get_objects() if isinstance(item, Value)]


def test_an_error_thrown_through_a_generator_leaves_no_cycle():
    class Value: ...

    @explain
    def numbers():
        yield 1

    gc.collect()
    gc.disable()
    try:
        running = numbers()
        next(running)
        with pytest.raises(KeyError):
            running.throw(KeyError(Value()))
        del running
        left = [item for item in gc.get_objects() if type(item) is Value]
    finally:
        gc.enable()

    assert left == []


PICKLED = """
import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from sgl_explain import explain

@explain
def double(number):
    return 2 * number

def add(one, other):
    return one + other

add_one = explain(partial(add, 1))

class Engine:
    def __init__(self, factor):
        self.factor = factor

    @explain
    def times(self, number):
        return self.factor * number

    @explain
    @classmethod
    def name(cls, number):
        return cls.__name__, number

    @staticmethod
    @explain
    def half(number):
        return number / 2

    @explain
    @staticmethod
    def negative(number):
        return -number

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for work in (double, add_one, Engine(3).times, Engine.name, Engine.half, Engine.negative, Engine(1).negative):
            print(pool.map(work, [1, 2]))
    with ProcessPoolExecutor(1) as executor:
        print(executor.submit(double, 4).result(), executor.submit(Engine.times, Engine(2), 4).result())
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(double, protocol)) is double
"""


def test_decorated_functions_and_methods_go_to_other_processes(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(PICKLED)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[2, 4]", "[2, 3]", "[3, 6]", "[('Engine', 1), ('Engine', 2)]", "[0.5, 1.0]", "[-1, -2]", "[-1, -2]", "8 8",
    ]  # fmt: skip


def test_a_local_function_pickles_as_little_as_an_undecorated_one():
    @explain
    def local(): ...

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


class Plain:
    @property
    def value(self):
        return 1

    @functools.cached_property
    def cached(self):
        return 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "explain decorates functions and methods, not an object of type int"),
        (None, "explain decorates functions and methods, not an object of type NoneType"),
        (Plain, "explain cannot decorate the class Plain; decorate its methods instead"),
        (Plain.value, "explain cannot decorate a property; put @explain below @property, on the method itself"),
        (
            vars(Plain)["cached"],
            "explain cannot decorate a cached_property; put @explain below @cached_property, on the method itself",
        ),
    ],
)
def test_what_cannot_be_decorated_is_refused_in_one_line(given, message):
    with pytest.raises(TypeError) as caught:
        explain()(given)

    assert str(caught.value) == message


def test_a_property_with_a_decorated_method_works():
    class Decorated:
        @property
        @explain
        def value(self):
            return 1

    assert Decorated().value == 1
