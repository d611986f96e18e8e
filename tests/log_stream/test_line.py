"""Prefixes of one line, peeled off in layers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgl_explain.log_stream.line import LineReader, LogLine, log_lines


@pytest.mark.parametrize(
    ("raw", "text", "rank", "level"),
    [
        ("[2025-08-08 09:09:09] hello", "hello", None, None),
        ("[2025-08-08 09:09:09 TP0] hello", "hello", "TP0", None),
        ("[2025-08-08 09:09:09.123 DP1 TP4] hello", "hello", "DP1 TP4", None),
        ("[2025-08-08 09:09:09 ATTN_CP5 TP5] hello", "hello", "ATTN_CP5 TP5", None),
        ("[2025-08-08 09:09:09 PP1 TP1] hello", "hello", "PP1 TP1", None),
        ("[2025-08-08 09:09:09 encode_server] hello", "hello", "encode_server", None),
        ("[gpu_id=0] hello", "hello", "gpu_id=0", None),
        ("[23:17:01 TP7] hello", "hello", "TP7", None),
        ("[12-16 14:27:08] hello", "hello", None, None),
        ("INFO server_args.py:938] hello", "hello", None, "INFO"),
        ("INFO server_args.py:938 hello", "hello", None, "INFO"),
        ("ERROR 08-08 09:09:09 [scheduler.py:123] hello", "hello", None, "ERROR"),
        ("ERROR:sglang.srt.managers.scheduler:hello", "hello", None, "ERROR"),
        ("2025-08-08 09:09:09,123 - sglang.srt.managers.scheduler - ERROR - hello", "hello", None, "ERROR"),
        ("2025-08-08 09:09:09.123 | ERROR    | sglang.srt.x:foo:12 - hello", "hello", None, "ERROR"),
        ("[2025-08-08 09:09:09,123][sglang.srt.x][ERROR] - hello", "hello", None, "ERROR"),
        ("[2025-08-08 09:09:09] ERROR:    hello", "hello", None, "ERROR"),
        ("[2025-08-08 09:09:09 TP0] ERROR scheduler.py:12: hello", "hello", "TP0", "ERROR"),
        ("[rank3]:[E808 09:09:09.123456 ProcessGroupNCCL.cpp:18] [Rank 3] hello", "[Rank 3] hello", "rank3", "ERROR"),
        ("W0808 09:09:09.000000 140 torch/elastic/agent.py:12] hello", "hello", None, "WARNING"),
        ("host-1:12:34 [0] init.cc:12 NCCL WARN hello", "NCCL WARN hello", None, "WARN"),
        ("2025-08-08T09:09:09.123Z  INFO sglang_router_rs::server: src/server.rs:12: hello", "hello", None, "INFO"),
        ("  0%|          | 0/36 [00:00<?, ?it/s][2025-08-08 09:09:09 TP0] hello", "hello", "TP0", None),
        ("old text\r[2025-08-08 09:09:09 TP0] hello\r\n", "hello", "TP0", None),
        ("[2025-08-08 09:09:09 +0000] [12] [ERROR] hello", "hello", None, "ERROR"),
        ("2025-08-08 09:09:09,123 WARN hello", "hello", None, "WARN"),
        ("##[error]hello", "hello", None, "ERROR"),
        ("section_start:1700000000:serve\r\x1b[0K[2025-08-08 09:09:09 TP0] hello", "hello", "TP0", None),
        ("x" * 99_000 + "\r[2025-08-08 09:09:09 TP0] hello", "hello", "TP0", None),
    ],
)  # fmt: skip
def test_a_loggers_prefix_is_taken_off_and_read(raw: str, text: str, rank: str | None, level: str | None) -> None:
    (line,) = log_lines(raw)

    assert (line.text, line.rank, line.level, line.starts_record) == (text, rank, level, True)


@pytest.mark.parametrize(
    ("prefix", "source"),
    [
        ("sglang-1  | ", "sglang-1"),
        ("server    | ", "server"),
        ("2025-08-08T09:09:09.123456789Z stderr F ", ""),
        ("2025-08-08T09:09:09+02:00 ", ""),
        ("[pod/x/y] ", "pod/x/y"),
        ("(SGLangEngine pid=123, ip=10.0.0.1) ", "SGLangEngine pid=123, ip=10.0.0.1"),
        ("(SGLangEngine(rank=0) pid=123) ", "SGLangEngine(rank=0) pid=123"),
        ("Aug 08 09:09:09 node7 sglang[12]: ", "sglang[12]"),
        ("[rank0]: ", "rank0"),
        ("[default3]:", "default3"),
        ("[1,0]<stderr>: ", "1,0"),
        ("sglang-1  | [rank0]: ", "sglang-1 rank0"),
        ("[2025-11-06T02:10:00.703Z] ", ""),
        ("2025-08-08T09:09:09.123456Z 00O ", ""),
        ("2025-08-08T09:09:09.123456Z 01E+", ""),
        ("2025-08-08T09:09:09.123456+02:00 node7 sglang[12]: ", "sglang[12]"),
        ("[ 1234.567890] node7 sglang[12]: ", "sglang[12]"),
        ("09:09:09 server.1  | ", "server.1"),
        ("sglang stderr | ", "sglang"),
        ("test-gpu\tRun server\t\ufeff2025-08-08T09:09:09.1234567Z ", "test-gpu\tRun server"),
        ('2025-08-08T09:09:09Z {app="sglang", pod="sglang-0"} ', '{app="sglang", pod="sglang-0"}'),
    ],
)
def test_a_wrapper_names_the_source_and_takes_one_space_with_it(prefix: str, source: str) -> None:
    (line,) = log_lines(f'{prefix}  File "x"')

    assert (line.text, line.source, line.starts_record) == ('  File "x"', source, False)


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory",
        "    | ValueError: a member of a group",
        "Error: mixed case is no level",
        "TypeError: unsupported operand type(s) for |: 'int' and 'str'",
        '  File "x", line 1, in f',
        '{"object": "error", "message": "x", "type": "BadRequestError", "code": 400}',
        '{"error": {"message": "x"}}',
        '"""',
        "{not json}",
    ],
)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert log_lines(text) == (LogLine(text),)


@pytest.mark.parametrize(
    "tag", ["[EPLBManager] rebalance", "[QuantizedRL] x", "[Warning] x", "sglang is not", "8 GPUs"]
)
def test_the_tags_of_sglangs_own_messages_stay(tag: str) -> None:
    assert log_lines(f"[2025-08-08 09:09:09] {tag}")[0].text == tag


def test_a_structured_record_gives_its_message_and_traceback_line_by_line() -> None:
    record = {"level": "error", "msg": "[2025-08-08 09:09:09 TP0] boom", "exc_info": "Traceback:\n  File"}

    lines = log_lines(json.dumps(record))

    assert [(line.text, line.starts_record) for line in lines] == [
        ("boom", True),
        ("Traceback:", False),
        ("  File", False),
    ]
    assert (lines[0].level, lines[0].rank) == ("ERROR", "TP0")


def test_a_traceback_written_with_backslash_n_is_unfolded() -> None:
    lines = log_lines(r"detail: Traceback (most recent call last):\n  File \"x\", line 1, in f\nValueError: y")

    assert [line.text for line in lines] == [
        "detail: Traceback (most recent call last):",
        '  File "x", line 1, in f',
        "ValueError: y",
    ]


def test_ray_says_once_that_a_line_was_repeated() -> None:
    (line,) = log_lines("(Engine pid=1) hello [repeated 22x across cluster] (Ray deduplicates logs by default)")

    assert line.text == "hello"


def test_terminal_escapes_are_taken_out() -> None:
    assert log_lines("\x1b[91m[12-16 14:27:08] boom\x1b[0;0m")[0].text == "boom"


LOGGED = "[2025-08-08 09:09:09 TP0] hello"


@pytest.mark.parametrize(
    ("label", "source"),
    [
        ("0: ", "0"),
        (" 12: ", "12"),
        ("node-7: ", "node-7"),
        ("sglang-0 server ", "sglang-0 server"),
        ("ecs/sglang/0123abcd ", "ecs/sglang/0123abcd"),
    ],
    ids=["srun -l", "srun -l, aligned", "pdsh", "stern", "aws logs tail"],
)
def test_a_label_is_believed_once_it_stood_before_what_sglang_surely_wrote(label: str, source: str) -> None:
    reader = LineReader()

    (doubted,) = reader.read(f'{label}  File "x"')
    (sure,) = reader.read(label + LOGGED)
    (believed,) = reader.read(f'{label}  File "x"')

    assert (doubted.text, doubted.source) == (f'{label}  File "x"', "")
    assert (sure.text, sure.source, sure.rank) == ("hello", source, "TP0")
    assert (believed.text, believed.source) == ('  File "x"', source)


def test_one_task_of_srun_vouches_for_the_others() -> None:
    reader = LineReader()
    reader.read(f"0: {LOGGED}")

    assert reader.read("7: ValueError: x")[0][:2] == ("ValueError: x", "7")


@pytest.mark.parametrize("words", ["Error: ", "step 3 ", "retry-2: ", "cuda/graph "])
def test_words_before_anything_else_are_no_label(words: str) -> None:
    (line,) = log_lines(f"{words}ValueError: x")

    assert line.text == f"{words}ValueError: x"


def test_a_line_that_containerd_cut_is_put_together() -> None:
    reader = LineReader()
    stamp = "2025-08-08T09:09:09.1Z stderr"

    assert reader.read(f"{stamp} P [2025-08-08 09:09:09 TP0] hel") == ()
    assert reader.waits
    assert reader.read(f"{stamp} P lo wor") == ()
    (line,) = reader.read(f"{stamp} F ld")

    assert (line.text, line.rank, reader.waits) == ("hello world", "TP0", False)


def test_pieces_of_two_containers_are_not_mixed_and_stay_bounded() -> None:
    reader = LineReader()
    for _ in range(10):
        reader.read("[pod/a/x] 2025-08-08T09:09:09.1Z stderr P " + "a" * 16_000)
        reader.read("[pod/b/x] 2025-08-08T09:09:09.1Z stderr P " + "b" * 16_000)

    (line,) = reader.read("[pod/a/x] 2025-08-08T09:09:09.1Z stderr F a")

    assert line.text == "a" * 64_000


def test_a_line_that_docker_cut_is_put_together() -> None:
    reader = LineReader()
    text = "[2025-08-08 09:09:09 TP0] " + "x" * 20_000

    assert reader.read(json.dumps({"log": text[:16_384], "stream": "stderr"})) == ()
    (line,) = reader.read(json.dumps({"log": text[16_384:] + "\n", "stream": "stderr"}))

    assert (line.text, line.rank) == ("x" * 20_000, "TP0")


@pytest.mark.parametrize(
    "record",
    [
        {"textPayload": LOGGED, "severity": "DEFAULT"},
        {"jsonPayload": {"message": LOGGED}, "severity": "DEFAULT"},
        {"MESSAGE": LOGGED, "PRIORITY": "3", "_SYSTEMD_UNIT": "sglang.service"},
        {"@message": LOGGED, "@timestamp": "2025-08-08"},
        {"line": LOGGED, "labels": {"app": "sglang"}},
    ],
    ids=["Google Cloud", "Google Cloud, structured", "journalctl -o json", "CloudWatch", "Loki"],
)
def test_records_of_log_services_give_their_text(record: dict[str, object]) -> None:
    (line,) = log_lines(json.dumps(record))

    assert (line.text, line.rank) == ("hello", "TP0")


@given(st.text(alphabet='[]{}"\\n|:-. 0123456789TPINFO\x1b\r', max_size=200))
def test_no_text_breaks_it_and_nothing_is_added(raw: str) -> None:
    for line in log_lines(raw):
        assert len(line.text) <= len(raw)
