"""What a log says in passing: release, command, phase."""

import pytest

from sgl_explain.log_stream.facts import LogFacts
from sgl_explain.log_stream.line import log_lines
from sgl_explain.log_stream.sieve import Sieve


def facts_of(*raw: str) -> LogFacts:
    facts = LogFacts()
    for line in raw:
        for part in log_lines(line):
            facts.notice(part)
    return facts


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("Load weight begin. avail mem=21.86 GB", "load"),
        ("Load weight end. type=LlamaForCausalLM, avail mem=1 GB", "kv_pool"),
        ("KV Cache is allocated. #tokens: 4096, K size: 0.00 GB", "kv_pool"),
        ("Memory pool end. avail mem=20.91 GB", "kv_pool"),
        ("Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 4096, K size: 1 GB", "kv_pool"),
        ("Load weight end. Committed real weights after CUDA graph capture in 3.10 s", "serving"),
        ("Update engine weights online from disk begin. avail mem=1.20 GB", "load"),
        ("Update weights end.", "serving"),
        ("Capture cuda graph begin. This can take up to several minutes. avail mem=1 GB", "graph_capture"),
        ("Capture draft cuda graph begin. This can take up to several minutes.", "graph_capture"),
        ("Capture target verify CUDA graph begin. backend=full", "graph_capture"),
        ("Capture cuda graph end. Time elapsed: 1 s.", "serving"),
        ("The server is fired up and ready to roll!", "serving"),
        ("Prefill batch. #new-seq: 1, #new-token: 7", "prefill"),
        ("Decode batch [12], #running-req: 1, #token: 40", "decode"),
    ],
)
def test_the_phase_is_the_one_of_the_last_line_that_tells(text: str, phase: str) -> None:
    assert facts_of("Load weight begin.", f"[2025-08-08 09:09:09 TP0] {text}").phase_of("") == phase
    assert Sieve().sift(text.encode()).facts


def test_each_writer_has_its_own_phase() -> None:
    facts = facts_of("prefill-1  | Prefill batch, #new-seq: 1", "decode-1   | Decode batch, #running-req: 1")

    assert (facts.phase_of("prefill-1"), facts.phase_of("decode-1"), facts.phase_of("")) == ("prefill", "decode", None)


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("sglang version: 0.5.19", "0.5.19"),
        ("sglang: 0.4.6.post5", "0.4.6.post5"),
        ("sglang==0.5.0rc1", "0.5.0rc1"),
        ("Image: lmsysorg/sglang:v0.5.2-cu126", "0.5.2"),
        ("/opt/sglang-0.5.19.dist-info/METADATA", "0.5.19"),
        ("sglang is at 0.5.19 seconds", None),
        ("Uvicorn running on http://127.0.0.1:30000", None),
    ],
)
def test_the_release_is_read_where_a_line_tells_it(line: str, release: str | None) -> None:
    assert facts_of(line).release == release


def test_the_command_is_read_where_a_line_shows_it_and_masked() -> None:
    facts = facts_of("+ python3 -m sglang.launch_server --model-path 'a b' --api-key abc")

    assert facts.command == ("python3", "-m", "sglang.launch_server", "--model-path", "a b", "--api-key", "****")


@pytest.mark.parametrize(
    "line",
    [
        "  Example: sglang serve --model-path <model> [options]",
        "sglang serve --model-path 'open",
        "use sglang serve --help",
    ],
)
def test_hints_and_scraps_are_no_command(line: str) -> None:
    assert facts_of(line).command == ()


@pytest.mark.parametrize(
    "line",
    ["[2025-08-08 09:09:09] x", "[gpu_id=0] x", "sglang-1  | x", "ERROR:sglang.srt.x:y", "(SGLangEngine pid=1) x"],
)
def test_a_prefix_or_a_name_ties_the_log_to_sglang(line: str) -> None:
    assert facts_of(line).sglang_in_picture or "ERROR" in line


def test_a_log_of_something_else_is_not_tied_to_it() -> None:
    assert not facts_of("2025-08-08 09:09:09 INFO hello", "ValueError: x").sglang_in_picture
