"""Errors inside event loops, asyncio's and uvloop's: forgotten tasks, callbacks, handlers, groups of several errors."""

import re
import sys

import pytest

DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
SAMPLING_ID = "request-sampling-value-out-of-range"

BEGIN = """
import sgl_explain; sgl_explain.install()
import asyncio, gc, logging, sys
from sglang.srt.arg_groups.speculative_hook import _handle_dspark

names = {"__name__": "sglang.srt.sampling.sampling_params"}
exec("def verify(top_p):\\n    raise ValueError(f'top_p must be in (0, 1], got {top_p}.')", names)
verify = names["verify"]

async def dspark(): _handle_dspark()
async def sampling(top_p=3): await asyncio.sleep(0); verify(top_p)
"""
LOOPS = {
    "asyncio": "run = asyncio.run\n",
    "uvloop": "import uvloop\nrun = getattr(uvloop, 'run', None) or (uvloop.install() or asyncio.run)\n",
}
FORGOTTEN = """
async def main():
    task = asyncio.create_task(dspark())
    await asyncio.wait([task])
    del task; gc.collect()
    print("goes on")
run(main())
"""
CALLBACK = """
async def main():
    asyncio.get_running_loop().call_soon(_handle_dspark)
    await asyncio.sleep(0.01)
    print("goes on")
run(main())
"""
DONE_CALLBACK = """
async def main():
    task = asyncio.create_task(asyncio.sleep(0))
    task.add_done_callback(lambda _: _handle_dspark())
    await asyncio.sleep(0.01)
    print("goes on")
run(main())
"""
FUTURE = """
async def main():
    future = asyncio.get_running_loop().create_future()
    try: _handle_dspark()
    except ValueError as error: future.set_exception(error)
    del future; gc.collect()
    print("goes on")
run(main())
"""
SURFACES = {"forgotten task": FORGOTTEN, "callback": CALLBACK, "done callback": DONE_CALLBACK, "future": FUTURE}


def shown(text):
    return [line.split()[-1] for line in text.splitlines() if line.startswith("  More:")]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", SURFACES)
def test_what_a_loop_reports_is_explained_once_below_its_report(program, name, loop):
    done = program(BEGIN + LOOPS[loop] + SURFACES[name])
    report, _, explanation = done.stderr.partition("sgl_explain: ")

    assert done.stdout == "goes on\n"
    assert "ValueError: DSpark" in report
    assert shown(explanation) == [DSPARK_ID], done.stderr


@pytest.mark.parametrize("loop", LOOPS)
def test_what_ends_the_program_is_explained_once(program, loop):
    done = program(BEGIN + LOOPS[loop] + "run(dspark())")

    assert shown(done.stderr) == [DSPARK_ID]
    assert done.returncode == 1


HANDLERS = {
    "that passes on": ("lambda loop, context: loop.default_exception_handler(context)", [DSPARK_ID]),
    "that logs": ("lambda loop, context: logging.error('oh', exc_info=context['exception'])", [DSPARK_ID]),
    "that prints": ("lambda loop, context: print('mine:', context['exception'], file=sys.stderr)", []),
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", HANDLERS)
def test_an_exception_handler_of_the_program_decides_whether_an_error_is_reported(program, name, loop):
    handler, expected = HANDLERS[name]
    body = FORGOTTEN.replace(
        "    task =", f"    asyncio.get_running_loop().set_exception_handler({handler})\n    task ="
    )
    done = program(BEGIN + LOOPS[loop] + body)

    assert shown(done.stderr) == expected, done.stderr
    assert done.stdout == "goes on\n"


def test_an_error_that_a_task_logged_and_nobody_retrieved_is_explained_once(program):
    body = FORGOTTEN.replace("dspark()", "logged()").replace(
        "async def main", "async def logged():\n    try: _handle_dspark()\n"
        "    except ValueError: logging.exception('x'); raise\nasync def main"
    )  # fmt: skip
    done = program(BEGIN + LOOPS["asyncio"] + body)

    assert done.stderr.count("ValueError: DSpark") == 2
    assert shown(done.stderr) == [DSPARK_ID]


ANYIO = """
import anyio
async def main():
    async with anyio.create_task_group() as group:
        for failing in FAILING: group.start_soon(failing)
anyio.run(main, backend="asyncio", backend_options={"use_uvloop": USE_UVLOOP})
"""
TASK_GROUP = """
async def main():
    async with asyncio.TaskGroup() as group:
        for failing in FAILING: group.create_task(failing())
run(main())
"""
TWO = "FAILING = [dspark, sampling]\n"
# cancelling stops the slower one; so none of them waits
AT_ONCE = BEGIN.replace("await asyncio.sleep(0); ", "")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups came with Python 3.11")
def test_each_leaf_of_a_task_group_is_explained(program, loop):
    done = program(AT_ONCE + TWO + LOOPS[loop] + TASK_GROUP)

    assert shown(done.stderr) == [DSPARK_ID, SAMPLING_ID], done.stderr


@pytest.mark.parametrize("uses_uvloop", [False, True])
def test_each_leaf_of_an_anyio_group_is_explained(program, uses_uvloop):
    done = program(AT_ONCE + TWO + ANYIO.replace("USE_UVLOOP", str(uses_uvloop)))

    assert shown(done.stderr) == [DSPARK_ID, SAMPLING_ID], done.stderr


def test_the_traceback_of_a_group_is_unchanged(program):
    body = (AT_ONCE + TWO + ANYIO.replace("USE_UVLOOP", "False")).split("\n", 2)[2]
    plain = program("import sgl_explain\n" + body)
    explained = program("import sgl_explain; sgl_explain.install()\n" + body)

    assert "ValueError: DSpark" in plain.stderr
    assert without_places(explained.stderr).startswith(without_places(plain.stderr).rstrip("\n"))


def without_places(text):
    return re.sub(r"0x[0-9a-f]+", "", text)


def test_leaves_that_say_the_same_are_explained_once(program):
    done = program(AT_ONCE + "FAILING = [dspark, dspark, sampling]\n" + ANYIO.replace("USE_UVLOOP", "False"))

    assert shown(done.stderr) == [DSPARK_ID, SAMPLING_ID]


def test_a_leaf_that_was_logged_before_is_not_explained_again(program):
    logged = "async def logged():\n    try: _handle_dspark()\n    except ValueError: logging.exception('x'); raise\n"
    done = program(AT_ONCE + logged + "FAILING = [logged, sampling]\n" + ANYIO.replace("USE_UVLOOP", "False"))
    first, _, second = done.stderr.partition("Exception Group Traceback")

    assert (shown(first), shown(second)) == ([DSPARK_ID], [SAMPLING_ID]), done.stderr


def test_a_thousand_failures_of_a_group_get_a_few_pages(program):
    many = "FAILING = [lambda n=n: sampling(n) for n in range(2, 1002)]\n"
    done = program(AT_ONCE + many + ANYIO.replace("USE_UVLOOP", "False"))

    assert 1 <= len(shown(done.stderr)) <= 8


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes and groups came with Python 3.11")
def test_an_explained_block_notes_each_leaf(program):
    body = "with sgl_explain.explain():\n    run(main())\n"
    done = program(AT_ONCE + TWO + LOOPS["asyncio"] + TASK_GROUP.replace("run(main())", body))

    assert [line.split()[-1] for line in done.stderr.splitlines() if "  More:" in line] == [DSPARK_ID, SAMPLING_ID]


def test_an_explained_coroutine_is_not_explained_again_by_the_loop(program):
    body = FORGOTTEN.replace("dspark()", "sgl_explain.explain(dspark)()")
    done = program(BEGIN + LOOPS["asyncio"] + body)

    assert done.stderr.count(f"sgl-explain show {DSPARK_ID}") == 1
