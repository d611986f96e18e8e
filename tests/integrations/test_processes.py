"""Children of multiprocessing, pools and torch.multiprocessing's messages, in real processes of every start method."""

import pytest

TITLE = "sgl_explain: DSpark: the draft-token count does not fit the block size"
FAIL = "from sglang.srt.arg_groups.speculative_hook import _handle_dspark; _handle_dspark()"
BEGIN = f"""
import multiprocessing, sys
def work(*_):
    {FAIL}
"""
MAIN = """
if __name__ == "__main__":
    if "plain" not in sys.argv:
        import sgl_explain; undo = sgl_explain.install()
"""
METHODS = ["fork", "spawn", "forkserver"]


def child(method, target="Process(target=work)"):
    return f"    child = multiprocessing.get_context({method!r}).{target}\n    child.start(); child.join()\n"


@pytest.mark.parametrize("method", METHODS)
def test_what_ends_a_child_is_explained_once_after_its_traceback(program, method):
    done = program(BEGIN + MAIN + child(method))
    before, title, _ = done.stderr.partition(TITLE)

    assert done.stderr.count(TITLE) == 1, title
    assert before.rstrip().splitlines()[-1].startswith("ValueError: DSpark")


@pytest.mark.parametrize("method", METHODS)
def test_the_traceback_and_the_exit_code_are_those_without_us(program, method):
    script = BEGIN + MAIN + child(method) + "    print(child.exitcode)"
    explained, plain = program(script), program(script.replace('"plain" not in sys.argv', "False"))

    assert explained.stderr.startswith(plain.stderr)
    assert "Traceback" in plain.stderr
    assert explained.stdout == plain.stdout == "1\n"


@pytest.mark.parametrize("method", METHODS)
def test_a_subclass_with_its_own_run_is_hooked(program, method):
    subclass = f"class Worker(multiprocessing.get_context({method!r}).Process):\n    def run(self): work()\n"

    assert program(BEGIN + subclass + MAIN + "    w = Worker(); w.start(); w.join()").stderr.count(TITLE) == 1


def test_the_children_of_children_are_hooked(program):
    nested = "def start():\n" + child("spawn")
    script = BEGIN + nested + MAIN + child("spawn", "Process(target=start)")

    assert program(script).stderr.count(TITLE) == 1


def test_after_uninstall_new_children_are_not_hooked(program):
    assert TITLE not in program(BEGIN + MAIN + "    undo()\n" + child("spawn")).stderr


def test_a_child_that_cannot_import_us_runs_as_ever(program):
    script = (
        "import multiprocessing, sys\ndef work(): print('ran', 'sgl_explain' in sys.modules)\n" + MAIN
        + "    sys.path[:] = [path for path in sys.path if not path.endswith('src')]\n"
        + "    import os; os.environ.pop('PYTHONPATH')\n" + child("spawn")
    )  # fmt: skip

    assert program(script).stdout == "ran False\n"


@pytest.mark.parametrize("method", METHODS)
def test_what_a_pool_executor_raises_is_explained_once(program, method):
    body = (
        "    from concurrent.futures import ProcessPoolExecutor\n"
        f"    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context({method!r})) as pool:\n"
        "        pool.submit(work).result()\n"
    )

    assert program(BEGIN + MAIN + body).stderr.count(TITLE) == 1


def test_what_a_pool_raises_is_explained_once(program):
    body = "    with multiprocessing.get_context('spawn').Pool(1) as pool: pool.map(work, [1])\n"

    assert program(BEGIN + MAIN + body).stderr.count(TITLE) == 1


SITE_ONLY = """
import multiprocessing, sys
def work(*_):
    namespace = {"__name__": "sglang.srt.arg_groups.parallel_hook"}
    exec(compile(SOURCE, "/x/site-packages/sglang/srt/arg_groups/parallel_hook.py", "exec"), namespace)
    namespace["handle_data_parallelism"]()
SOURCE = "def handle_data_parallelism():\\n    assert cfg.tp_size % cfg.dp_size == 0\\n" \\
    "class cfg:\\n    tp_size, dp_size = 4, 3\\n"
import linecache
linecache.cache["/x/site-packages/sglang/srt/arg_groups/parallel_hook.py"] = \\
    (len(SOURCE), None, SOURCE.splitlines(True), "/x/site-packages/sglang/srt/arg_groups/parallel_hook.py")
"""


def test_an_assert_without_words_is_told_by_the_frames_of_the_other_process(program):
    body = (
        "    from concurrent.futures import ProcessPoolExecutor\n"
        "    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "        pool.submit(work).result()\n"
    )

    assert "the TP size is not a multiple of the DP size" in program(SITE_ONLY + MAIN + body).stderr


class ProcessRaised(Exception):  # noqa: N818 - torch's own name
    __module__ = "torch.multiprocessing.spawn"
    __qualname__ = "ProcessRaisedException"


def test_what_torch_quotes_of_its_process_is_the_cause():
    import sgl_explain

    text = (
        "\n\n-- Process 0 terminated with the following error:\nTraceback (most recent call last):\n"
        '  File "/x/site-packages/torch/multiprocessing/spawn.py", line 90, in _wrap\n    fn(i, *args)\n'
        '  File "/x/site-packages/sglang/srt/arg_groups/parallel_hook.py", line 197, in handle_data_parallelism\n'
        "    assert cfg.tp_size % cfg.dp_size == 0\nAssertionError\n"
    )
    explanation = sgl_explain.diagnose(ProcessRaised(text))

    assert explanation.id == "attention-dp-does-not-divide-tp"
