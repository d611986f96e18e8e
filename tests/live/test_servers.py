"""Real launches with only the package installed: the main process, a scheduler child, and the log they leave."""

import ast
import json
import re
import signal
import subprocess
import sys

import pytest

from sgl_explain.log_stream.server_args import command_in

VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|pid=\d+|0x[0-9a-f]+|avail mem=[\d.]+|random_seed=\d+|'random_seed': \d+"
)
DSPARK = (
    "--device cuda --speculative-algorithm DSPARK --speculative-draft-model-path {MODELS}/tiny-draft "
    "--speculative-dspark-block-size 4 --speculative-num-draft-tokens 8"
)  # fmt: skip


def run_to_its_end(live, flags, **env):
    process = live.launch(flags, **env)
    try:
        text, _ = process.communicate(timeout=240)
        return text, process.returncode
    finally:
        live.end(process)


@pytest.fixture(scope="session")
def dspark(live):
    return run_to_its_end(live, DSPARK), run_to_its_end(live, DSPARK, SGLANG_EXPLAIN="0")


@pytest.fixture(scope="session")
def missing_module(live):
    return run_to_its_end(live, live.SERVE), run_to_its_end(live, live.SERVE, SGLANG_EXPLAIN="0")


def line_after(text, beginning):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[next(index for index, line in enumerate(lines) if line.startswith(beginning)) + 1]


def without_explanation(text):
    return re.sub(r"(?ms)^sgl_explain: .*?^  More: +sgl-explain show \S+\n", "", text)


def test_an_argument_error_in_the_main_process_is_explained_once_after_its_traceback(dspark):
    (text, _), _ = dspark

    assert text.count("sgl_explain: ") == 1
    assert line_after(text, "ValueError: DSpark").startswith("sgl_explain: ")
    assert "sgl-explain show dspark-draft-tokens-not-gamma-plus-one" in text


def test_the_corrected_command_can_be_pasted(dspark):
    (text, _), _ = dspark
    command = r"^ +python -m sglang\.launch_server --model-path \S+ .*--speculative-dspark-block-size 4$"

    assert re.search(command, text, re.MULTILINE)


def test_an_argument_error_ends_as_without_the_package(dspark):
    (text, code), (plain_text, plain_code) = dspark

    assert code == plain_code == 1
    assert VOLATILE.sub("·", without_explanation(text)) == VOLATILE.sub("·", plain_text)


def test_a_dying_scheduler_child_is_explained_once_after_its_traceback(missing_module):
    (text, _), _ = missing_module

    assert text.count("sgl_explain: ") == 1
    assert line_after(text, "ModuleNotFoundError: No module named 'vllm'").startswith("sgl_explain: ")


def test_a_dying_child_takes_the_server_down_as_without_the_package(missing_module):
    (_, code), (_, plain_code) = missing_module

    assert code == plain_code == -signal.SIGKILL


def prefixed(text, prefix):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "prefix",
    ["", "sglang-1  | ", "2026-08-08T09:09:09.123456789Z stderr F ", "[pod/sglang-0/server] "],
    ids=["bare", "docker compose", "Kubernetes CRI", "kubectl --prefix"],
)
def test_the_log_it_left_behind_is_explained(missing_module, prefix, tmp_path):
    _, (text, _) = missing_module
    log = tmp_path / "server.log"
    log.write_text(prefixed(text, prefix))
    done = subprocess.run(
        [sys.executable, "-m", "sgl_explain", "scan", "--json", str(log)], capture_output=True, text=True, check=True
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    causes = [record for record in records if not record.get("is_wrapper") and not record.get("is_harmless")]

    assert [(record["exception"], "vllm" in record["message"]) for record in causes] == [("ModuleNotFoundError", True)]
    assert text.splitlines()[causes[0]["line"] - 1].endswith("Traceback (most recent call last):")


RESOLVED = """
import json, sys
from sglang.srt.server_args import prepare_server_args
arguments = prepare_server_args(json.loads(sys.argv[1]))
arguments.resolve_once()
print("resolved:", arguments.resolved_dict())
"""
NEVER_ALIKE = ("random_seed", "watermark_config", "watermark_key", "watermark_key_b")


def test_the_command_of_a_logs_server_arguments_starts_the_same_server(live, missing_module):
    _, (text, _) = missing_module
    (shown,) = re.findall(r"server_args=(\{.*\})$", text, re.MULTILINE)
    command = command_in(f"server_args={shown}")
    done = subprocess.run(
        [live.python, "-c", RESOLVED, json.dumps(command[3:])],
        capture_output=True, text=True, env=live.env(SGLANG_EXPLAIN="0"), check=True, timeout=240,
    )  # fmt: skip
    again = ast.literal_eval(done.stdout.partition("resolved: ")[2])
    logged = ast.literal_eval(shown)

    assert command[:5] == ("python", "-m", "sglang.launch_server", "--model-path", live.filled("{MODELS}/tiny-llama"))
    assert {name: again[name] for name in logged if name not in NEVER_ALIKE} == {
        name: value for name, value in logged.items() if name not in NEVER_ALIKE
    }
