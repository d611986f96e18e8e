import pytest

from sgl_explain.environment import launch_command, phase_of
from sgl_explain.evidence import Frame


def frames(*calls: str) -> list[Frame]:
    return [Frame(*call.split(":")) for call in calls]


@pytest.mark.parametrize(
    ("calls", "phase"),
    [
        (
            [
                "sglang.srt.managers.scheduler:__init__",
                "sglang.srt.model_executor.model_runner:load_model",
                "torch.nn:f",
            ],
            "load",
        ),
        (["sglang.srt.x:init_cuda_graphs", "sglang.srt.models.llama:forward_decode"], "graph_capture"),
        (["sglang.srt.managers.scheduler:run_batch", "sglang.srt.layers.attention.x:forward_decode"], "decode"),
        (["sglang.srt.managers.scheduler:get_new_batch_prefill"], "prefill"),
        (["sglang.srt.model_executor.runner.prefill_cuda_graph_runner:execute"], "prefill"),
        (["sglang.srt.model_executor.runner.decode_cuda_graph_runner:execute"], "decode"),
        (["sglang.srt.model_executor.runner.eager_runner:execute"], None),
        (["sglang.srt.mem_cache.kv_cache_configurator:configure"], "kv_pool"),
        (["sglang.srt.arg_groups.speculative_hook:_handle_dspark"], "arguments"),
        (["my.program:load_model"], None),
        ([], None),
    ],
)
def test_the_frames_tell_the_phase(calls: list[str], phase: str | None):
    assert phase_of(frames(*calls)) == phase


def test_the_launch_is_told_as_it_can_be_typed():
    argv = ["/usr/lib/python3/dist-packages/sglang/launch_server.py", "--api-key", "topsecret1", "--tp-size", "2"]
    command = launch_command(argv, ["python", "-m", "sglang.launch_server"])

    assert command == ("python", "-m", "sglang.launch_server", "--api-key", "****", "--tp-size", "2")


def test_the_console_script_is_a_launch_too():
    assert launch_command(["/usr/bin/sglang", "serve", "--tp-size", "2"], []) == ("sglang", "serve", "--tp-size", "2")


@pytest.mark.parametrize("argv", [["train.py", "--tp-size", "2"], [""], []])
def test_other_programs_are_no_launch(argv: list[str]):
    assert launch_command(argv, ["python", *argv]) == ()
