"""Failures read from whole logs, in the shapes in which people have them."""

import json
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgl_explain.evidence import Context, Raised, evidence_from
from sgl_explain.log_stream import Incident, incidents

CHILD_FAILURE = """\
[2025-08-08 09:09:09 TP0] Load weight begin. avail mem=21.86 GB
[2025-08-08 09:09:10 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 5584, in run_scheduler_process
    scheduler = Scheduler(
                ^^^^^^^^^^
  File "/sgl-workspace/sglang/python/sglang/srt/models/llama.py", line 201, in __init__
    self.rotary_emb = get_rope(
  File "<frozen runpy>", line 88, in _run_code
ModuleNotFoundError: No module named 'vllm'

[2025-08-08 09:09:11] Received sigquit from a child process. It usually means the child failed.
"""


def found(text: str, **options: object) -> list[Incident]:
    return list(incidents(text.splitlines(keepends=True), **options))  # type: ignore[arg-type]  # passed through


def raised(text: str, **options: object) -> list[tuple[Raised, ...]]:
    return [incident.evidence.raised for incident in found(text, **options)]


def prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


def test_a_child_failure_keeps_the_words_before_its_traceback_as_the_outermost_link() -> None:
    incident, sigquit = found(CHILD_FAILURE)

    wrapper, error = incident.evidence.raised
    assert (wrapper.types, wrapper.message) == ((), "Scheduler hit an exception")
    assert (error.types, error.message) == (("ModuleNotFoundError", "ImportError"), "No module named 'vllm'")
    assert [(frame.module, frame.function, frame.line) for frame in error.frames] == [
        ("sglang.srt.managers.scheduler", "run_scheduler_process", "scheduler = Scheduler("),
        ("sglang.srt.models.llama", "__init__", "self.rotary_emb = get_rope("),
        ("runpy", "_run_code", ""),
    ]
    assert (incident.line, sigquit.line) == (2, 11)
    assert sigquit.evidence.raised[0].message.startswith("Received sigquit from a child process.")


def test_the_log_tells_rank_phase_and_that_it_is_sglang() -> None:
    context = found(CHILD_FAILURE)[0].evidence.context

    assert (context.rank, context.phase, context.sglang_in_picture) == ("TP0", "load", True)


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda text: prefixed(text, "sglang-1  | "), id="docker compose"),
        pytest.param(lambda text: prefixed(text, "2025-08-08T09:09:09.123456789Z stderr F "), id="kubernetes"),
        pytest.param(lambda text: prefixed(text, "[pod/sglang-0/server] "), id="kubectl --prefix"),
        pytest.param(lambda text: prefixed(text, "(SGLangEngine pid=123, ip=10.0.0.1) "), id="ray"),
        pytest.param(lambda text: prefixed(text, "Aug 08 09:09:09 node7 sglang[4242]: "), id="journald"),
        pytest.param(lambda text: prefixed(text, "\x1b[36m(SGLangEngine pid=1)\x1b[0m "), id="colours"),
        pytest.param(lambda text: prefixed(text, "sgl-1  | 2025-08-08T09:09:09.1Z stderr F [pod/a/b] "), id="layers"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(lambda text: "\ufeff" + text, id="byte-order mark"),
        pytest.param(
            lambda text: "\n".join(json.dumps({"log": line + "\n", "stream": "stderr"}) for line in text.splitlines()),
            id="json-file",
        ),
        pytest.param(lambda text: "\n".join(map(json.dumps, text.splitlines())), id="JSON strings"),
        pytest.param(lambda text: text.replace("\n  ", "\n[2025-08-08 09:09:10 TP0]   "), id="own prefix on each line"),
    ],
)
def test_wrapped_in_any_way_it_is_the_same_failure(wrap: Callable[[str], str]) -> None:
    bare, wrapped = found(CHILD_FAILURE), found(wrap(CHILD_FAILURE))

    assert [incident.evidence for incident in wrapped] == [incident.evidence for incident in bare]
    assert [(incident.line, incident.last_line) for incident in wrapped] == [(i.line, i.last_line) for i in bare]


def failing(depth: int = 2) -> None:
    if depth:
        failing(depth - 1)
    raise ValueError("deep\nsecond line")


def chained() -> None:
    try:
        failing()
    except ValueError as error:
        try:
            raise KeyError("between") from error
        except KeyError:
            raise RuntimeError("outer") from None or error


def implicitly_chained() -> None:
    try:
        failing()
    except ValueError:
        raise LookupError("while handling")  # noqa: B904 - the implicit chain is what is tested


def asserting() -> None:
    assert sum((1, 2)) == 4


@pytest.mark.parametrize("fail", [failing, chained, implicitly_chained, asserting])
@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "sglang-1  | "])
def test_a_printed_traceback_gives_what_the_live_exception_gives(fail: Callable[[], None], prefix: str) -> None:
    try:
        fail()
    except Exception as error:
        live = evidence_from(error).raised
        text = "".join(traceback.format_exception(error))

    (read,) = raised(prefixed(text, prefix))

    assert [(link.types, link.message) for link in read] == [(link.types, link.message) for link in live]
    assert [[(f.function, f.line) for f in link.frames] for link in read] == [
        [(f.function, f.line) for f in link.frames] for link in live
    ]


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/x/sglang/srt/a.py", line 13, in h
  |     raise ExceptionGroup("two", errs)
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/x/sglang/srt/a.py", line 3, in f
    |     raise ValueError("deep")
  [Previous line repeated 2 more times]
    | ValueError: deep
    | a note
    |
    | The above exception was the direct cause of the following exception:
    |
    | Traceback (most recent call last):
    |   File "/x/sglang/srt/a.py", line 7, in g
    |     raise RuntimeError("outer") from e
    | RuntimeError: outer
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/x/sglang/srt/a.py", line 11, in h
    |     1/0
    |     ~^~
    | ZeroDivisionError: division by zero
    +------------------------------------

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/x/sglang/srt/a.py", line 15, in <module>
    raise KeyError("final") from e
KeyError: 'final'
"""


def test_a_group_is_one_failure_with_its_members_behind_it() -> None:
    (read,) = raised(GROUP)

    assert [(link.types[0], link.message) for link in read] == [
        ("KeyError", "'final'"),
        ("ExceptionGroup", "two (2 sub-exceptions)"),
        ("RuntimeError", "outer"),
        ("ValueError", "deep\na note"),
        ("ZeroDivisionError", "division by zero"),
    ]
    assert read[4].frames[0].line == "1/0"


def test_two_ranks_that_talk_at_once_are_read_apart() -> None:
    def of(rank: int) -> list[str]:
        return [
            f"[rank{rank}]: Traceback (most recent call last):",
            f'[rank{rank}]:   File "/x/sglang/srt/a.py", line 1, in f{rank}',
            f"[rank{rank}]:     g({rank})",
            f"[rank{rank}]: ValueError: of rank {rank}",
        ]

    mixed = [line for pair in zip(of(0), of(1), strict=True) for line in pair]
    first, second = incidents(mixed)

    for rank, incident in enumerate((first, second)):
        (error,) = incident.evidence.raised
        assert (error.message, error.frames[0].line) == (f"of rank {rank}", f"g({rank})")
        assert incident.evidence.context.rank == f"rank{rank}"


def test_a_log_line_that_cuts_into_a_traceback_does_not_end_it() -> None:
    lines = CHILD_FAILURE.splitlines()
    lines.insert(4, "[2025-08-08 09:09:10 TP1] Prefill batch, #new-seq: 1, #new-token: 24")

    assert [i.evidence.raised for i in incidents(lines)] == raised(CHILD_FAILURE)


@pytest.mark.parametrize("kept", range(2, 9))
def test_a_failure_that_the_log_cuts_off_is_given_as_it_stands(kept: int) -> None:
    (incident,) = incidents(CHILD_FAILURE.splitlines()[:kept])

    assert incident.evidence.raised[0].message == "Scheduler hit an exception"
    assert incident.last_line == kept


def test_each_failure_comes_as_soon_as_the_next_line_shows_that_it_is_complete() -> None:
    taken: list[str] = []

    def lines() -> Iterable[str]:
        for line in CHILD_FAILURE.splitlines():
            taken.append(line)
            yield line

    next(iter(incidents(lines())))

    assert taken[-1].endswith("the child failed.")


@pytest.mark.parametrize(
    ("line", "types", "message"),
    [
        ("launch_server.py: error: unrecognized arguments: --x", ("SystemExit",), "unrecognized arguments: --x"),
        ("sglang serve: error: the following arguments are required: --model-path/--model", ("SystemExit",),
         "the following arguments are required: --model-path/--model"),
        ("ValueError: no", ("ValueError",), "no"),
        ("[rank3]: torch.OutOfMemoryError: CUDA out of memory.", ("torch.OutOfMemoryError",), "CUDA out of memory."),
        ("AssertionError", ("AssertionError",), ""),
        ("[2025-08-08 09:09:09 DP1 TP4] Ignore import error when loading x", (), "Ignore import error when loading x"),
        ("[2025-08-08 09:09:09] ERROR:    Exception in ASGI application", (), "Exception in ASGI application"),
        ("ERROR 08-08 09:09:09 [scheduler.py:123] boom", (), "boom"),
        ("host-1:12:34 [0] NCCL WARN Cuda failure 'no'", (), "NCCL WARN Cuda failure 'no'"),
        ("terminate called after throwing an instance of 'c10::Error'", (),
         "terminate called after throwing an instance of 'c10::Error'"),
        ("[rank3]:[E808 09:09:09.123456789 ProcessGroupNCCL.cpp:1895] [Rank 1] Watchdog caught", (),
         "[Rank 1] Watchdog caught"),
        ("Killed", (), "Killed"),
        ("[2025-08-08 09:09:09] Rank 0 scheduler died during initialization (exit code: -9)", (),
         "Rank 0 scheduler died during initialization (exit code: -9)"),
        ('data: {"error": {"message": "too long", "code": 400}}', (), "too long"),
        ('{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}', (), "too long"),
        ("/x/sglang/srt/awq.py:53: UserWarning: Only CUDA", ("UserWarning",), "Only CUDA"),
    ],
)  # fmt: skip
def test_a_single_line_is_offered_with_what_it_says(line: str, types: tuple[str, ...], message: str) -> None:
    ((read,),) = raised(line)

    assert (read.types, read.message) == (types, message)


def test_a_reply_inside_a_clients_exception_follows_it() -> None:
    ((error, reply),) = raised("openai.BadRequestError: Error code: 400 - {'object': 'error', 'message': 'too long'}")

    assert (error.types, reply) == (("openai.BadRequestError",), Raised((), "too long", server="perhaps sglang"))


def test_argparse_usage_is_passed_over() -> None:
    text = "usage: launch_server.py [-h] --model-path MODEL_PATH\n" + " " * 20 + "[--watchdog-timeout X]\n"

    assert [r.message for (r,) in raised(text + "launch_server.py: error: unrecognized arguments: --x")] == [
        "unrecognized arguments: --x"
    ]


def test_a_warning_does_not_bring_its_source_line() -> None:
    ((read,),) = raised('/x/awq.py:53: UserWarning: Only CUDA\n  warnings.warn(f"Only CUDA")\nhello there\n')

    assert read.message == "Only CUDA"


def test_a_traceback_inside_a_warning_is_read() -> None:
    text = (
        "/x/sglang/lang/interpreter.py:434: UserWarning: Error in stream_executor: "
        + "\n".join(CHILD_FAILURE.splitlines()[1:-1]).partition(": ")[2]
    )

    ((wrapper, error),) = raised(text)

    assert (wrapper.message, error.message) == ("Error in stream_executor", "No module named 'vllm'")


def test_words_of_a_logger_and_the_traceback_on_the_next_line_are_one_failure() -> None:
    text = "[2025-08-08 09:09:09] Error in forward: boom\n" + CHILD_FAILURE.split("exception: ")[1]

    first, _ = raised(text)

    assert [link.message for link in first] == ["Error in forward: boom", "No module named 'vllm'"]


def test_the_cause_that_a_pool_worker_printed_is_a_link_of_the_chain() -> None:
    text = '''\
multiprocessing.pool.RemoteTraceback:
"""
Traceback (most recent call last):
  File "<string>", line 2, in f
ValueError: in pool
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/pool.py", line 774, in get
    raise self._value
ValueError: again
'''
    (read,) = raised(text)

    assert [link.message for link in read] == ["again", "", "in pool"]


def test_rays_quoted_error_is_a_cause() -> None:
    text = """\
Traceback (most recent call last):
  File "/x/train.py", line 1, in main
    ray.get(x)
ray.exceptions.RayTaskError(ValueError): ray::Engine.f() (pid=1, ip=10.0.0.1)
  File "/x/sglang/srt/a.py", line 3, in f
    raise ValueError("inner")
ValueError: inner
"""
    ((outer, inner),) = raised(text)

    assert outer.types == (
        "ray.exceptions.RayTaskError(ValueError)",
        "ray.exceptions.RayTaskError",
        "ValueError",
    )
    assert (inner.types, inner.message, inner.frames[0].module) == (("ValueError",), "inner", "sglang.srt.a")


def test_calls_in_a_message_that_lead_to_no_exception_stay_words_of_it() -> None:
    text = """\
Traceback (most recent call last):
  File "/x/a.py", line 1, in main
torch._dynamo.exc.Unsupported: no
from user code:
   File "/x/b.py", line 5, in forward
    return self.x

Set TORCHDYNAMO_VERBOSE=1 for more
"""
    ((read,),) = raised(text)

    assert read.message.startswith("no\nfrom user code:\n   File")
    assert read.message.endswith("Set TORCHDYNAMO_VERBOSE=1 for more")


def test_a_syntax_errors_own_place_is_no_call() -> None:
    text = "  File \"/tmp/s.py\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed\n"

    ((read,),) = raised(text)

    assert (read.types, read.message, read.frames) == (("SyntaxError",), "'(' was never closed", ())


def test_a_crash_report_gives_the_calls_of_the_first_thread_innermost_last() -> None:
    text = """\
Fatal Python error: Segmentation fault

Current thread 0x00007fe441464b80 (most recent call first):
  File "/x/sglang/srt/a.py", line 351 in inner
  File "/x/sglang/srt/b.py", line 1 in outer

Thread 0x00007fe441464b99 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 1 in wait

Extension modules: numpy (total: 1)
"""
    ((read,),) = raised(text)

    assert read.message == "Fatal Python error: Segmentation fault"
    assert [frame.function for frame in read.frames] == ["outer", "inner"]


def test_lines_without_a_mark_are_offered_to_those_who_ask_for_them() -> None:
    text = "[2025-08-08 09:09:09 TP0] The chosen backend will be ignored\n[2025-08-08 09:09:09 TP0] hello\n"

    asked: list[str] = []
    read = raised(text, interesting=lambda line: bool(asked.append(line)) or "ignored" in line)

    assert raised(text) == []
    assert [r.message for (r,) in read] == ["The chosen backend will be ignored"]
    assert asked == ["The chosen backend will be ignored", "hello"]


def test_a_message_ends_after_sixty_lines() -> None:
    text = "Traceback (most recent call last):\nValueError: x\n" + "more\n" * 100

    ((read,),) = raised(text)

    assert read.message.count("\n") == 59


def test_secrets_are_masked() -> None:
    ((read,),) = raised("ValueError: bad token hf_abcdefghijklmnopqrstuv")

    assert read.message == "bad token ****"


def test_what_the_caller_knows_is_kept() -> None:
    known = Context(release="0.5.19", command=("sglang", "serve"), deliberate=True)

    (incident,) = found("ValueError: x", context=known)

    assert incident.evidence.context == known


def test_writers_that_never_end_their_tracebacks_are_bounded() -> None:
    lines = [f"svc-{n}  | Traceback (most recent call last):\n" for n in range(500)]
    lines = [line for n, line in enumerate(lines) for line in (line, f'svc-{n}  |   File "/a.py", line 1, in f\n')]

    assert len(list(incidents(lines))) == 500


PIECES = st.sampled_from(
    [*CHILD_FAILURE.splitlines(), *GROUP.splitlines(), "Traceback (most recent call last):", "", "{}", '"', "usage: x",
     "sglang-1  | ", "[rank0]: ", "x.py: error: y", "Fatal Python error: x", "  File", "| ", "+-+-", '{"msg": 1}',
     'Traceback (most recent call last):\\n  File "x", line 1, in f\\nValueError: x',
     "ValueError: Traceback (most recent call last):"]
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["", "sglang-1  | ", "[rank1]: "]), PIECES | st.text()).map("".join)))
@example(["+-+---------------- 1 ----------------", "+------------------------------------"])
@settings(deadline=None)
def test_no_text_breaks_it_and_line_numbers_lie_within(lines: list[str]) -> None:
    for incident in incidents(lines, interesting=lambda text: "a" in text):
        assert 1 <= incident.line <= incident.last_line <= len(lines)
        assert incident.evidence.raised


REAL_LOGS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("missing-module*.log"))


@pytest.mark.parametrize("log", REAL_LOGS, ids=lambda log: log.stem)
def test_a_real_log_shows_the_missing_module(log: Path) -> None:
    with log.open(encoding="utf-8") as lines:
        causes = [incident.evidence.raised[-1] for incident in incidents(lines)]

    assert [cause.message for cause in causes if "ModuleNotFoundError" in cause.types] == ["No module named 'vllm'"]


def test_a_failure_need_not_wait_for_the_next_line_where_the_log_falls_silent() -> None:
    lines = CHILD_FAILURE.splitlines()
    seen: list[object] = []

    def live() -> Iterable[str | None]:
        yield from lines[:4]
        yield None
        seen.append("in the middle of the traceback")
        yield from lines[4:9]
        yield None
        seen.append("behind it")
        yield from lines[9:]

    for incident in incidents(live()):
        seen.append((incident.line, incident.last_line))  # noqa: PERF401 - the order of things is what is tested

    assert seen == ["in the middle of the traceback", (2, 9), "behind it", (11, 11)]


def test_two_unmarked_tracebacks_that_come_line_by_line_are_told_apart() -> None:
    def of(name: str) -> list[str]:
        return [
            "Traceback (most recent call last):",
            f'  File "/x/sglang/srt/{name}.py", line 1, in outer_{name}',
            f"    inner_{name}()",
            f'  File "/x/sglang/srt/{name}.py", line 2, in inner_{name}',
            f"    raise ValueError({name})",
            f"ValueError: {name}",
        ]

    mixed = [line for pair in zip(of("a"), of("b"), strict=True) for line in pair]
    first, second = (incident.evidence.raised for incident in incidents(mixed))

    for name, (error,) in (("a", first), ("b", second)):
        assert error.message == name
        assert [frame.function for frame in error.frames] == [f"outer_{name}", f"inner_{name}"]
        assert [frame.line for frame in error.frames] == [f"inner_{name}()", f"raise ValueError({name})"]


def test_a_traceback_that_was_cut_off_takes_nothing_of_the_next_one() -> None:
    cut = CHILD_FAILURE.splitlines()[1:6]

    first, second, _ = raised("\n".join([*cut, CHILD_FAILURE.split("exception: ")[1]]))

    assert len(first[1].frames) == 2
    assert (second[0].message, len(second[0].frames)) == ("No module named 'vllm'", 3)


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda text: prefixed(text, "3: "), id="srun -l"),
        pytest.param(lambda text: prefixed(text, "sglang-0 server "), id="stern"),
        pytest.param(lambda text: prefixed(text, "2025-08-08T09:09:09.1234567Z "), id="GitHub Actions"),
        pytest.param(lambda text: prefixed(text, "2025-08-08T09:09:09.123456Z 00O "), id="GitLab"),
        pytest.param(lambda text: prefixed(text, "[2025-08-08T09:09:09.123Z] "), id="Jenkins"),
        pytest.param(lambda text: prefixed(text, "sglang stderr | "), id="supervisord"),
        pytest.param(lambda text: prefixed(text, "[36m(SGLangEngine pid=1)[0m "), id="colours without their escape"),
        pytest.param(
            lambda text: prefixed(text, "sglang-0 server 2025-08-08T09:09:09.1Z stderr F 3: [rank1]: "),
            id="five layers",
        ),
    ],
)
def test_wrapped_by_launchers_and_builds_it_is_the_same_failure(wrap: Callable[[str], str]) -> None:
    bare, wrapped = found(CHILD_FAILURE), found(wrap(CHILD_FAILURE))

    assert [i.evidence.raised for i in wrapped] == [i.evidence.raised for i in bare]
    assert [(i.line, i.last_line) for i in wrapped] == [(i.line, i.last_line) for i in bare]
