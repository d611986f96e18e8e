"""What surrounds a failure in this process: the SGLang release at hand, the launch command, the phase."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from sgl_explain.evidence import Context, Frame, sglang_is_loaded
from sgl_explain.redact import redacted_argv

# The outermost telling call decides: graph capture runs the model's forward_decode too. A name that says little by
# itself stands with its file. Read off sglang 0.4.6.post5 to 0.5.23: srt/server_args, srt/managers/scheduler and
# schedule_batch, srt/model_executor, srt/model_loader, srt/mem_cache/kv_cache_configurator.
_FUNCTIONS_BY_PHASE: Final = {
    "arguments": "prepare_server_args check_server_args resolve_once",
    "load": "load_model load_weights",
    "kv_pool": "init_memory_pool init_memory_pools alloc_memory_pool profile_max_num_token _profile_available_bytes "
    "_init_pools kv_cache_configurator.configure post_capture_resize_kv_pool",
    "graph_capture": "init_cuda_graphs init_all_cuda_graphs init_device_graphs init_piecewise_cuda_graphs "
    "init_prefill_cuda_graph init_decode_cuda_graph capture_cuda_graphs capture_prefill_graph capture_decode_graph "
    "capture_one_batch_size capture_one_shape kernel_warmup prewarm_sampling base_runner.warmup _dummy_run",
    "prefill": "get_new_batch_prefill prepare_for_extend forward_extend forward_split_prefill _execute_extend "
    "prefill_cuda_graph_runner.execute",
    "decode": "update_running_batch prepare_for_decode forward_decode _execute_decode decode_cuda_graph_runner.execute",
}
_PHASE_BY_FUNCTION: Final = {
    name: phase for phase, functions in _FUNCTIONS_BY_PHASE.items() for name in functions.split()
}
_PHASE_BY_MODULE: Final = {"sglang.srt.server_args": "arguments", "sglang.srt.arg_groups": "arguments"}
_LAUNCHERS: Final = ("launch_server.py", "sglang", "launch_router.py", "bench_one_batch.py")


def phase_of(frames: Iterable[Frame]) -> str | None:
    """Return the phase that a traceback tells, if one of its frames inside SGLang does."""
    ours = [frame for frame in frames if frame.in_sglang]
    by_function = (_PHASE_BY_FUNCTION.get(name) for frame in ours for name in _names_of(frame))
    by_module = (_phase_of_module(frame.module) for frame in ours)
    return next((phase for phase in (*by_function, *by_module) if phase), None)


def _names_of(frame: Frame) -> tuple[str, str]:
    return f"{frame.module.rpartition('.')[2]}.{frame.function}", frame.function


def _phase_of_module(module: str) -> str | None:
    return next(
        (phase for name, phase in _PHASE_BY_MODULE.items() if module == name or module.startswith(name + ".")), None
    )


def current_context() -> Context:
    """Return the context of a failure in this process; reads `sys` only, imports and opens nothing."""
    return Context(
        sglang_in_picture=sglang_is_loaded(),
        release=loaded_release(),
        command=launch_command(sys.argv, getattr(sys, "orig_argv", ())),
    )


def loaded_release() -> str | None:
    """Return the release of the SGLang that this process has imported, if it has."""
    version = getattr(sys.modules.get("sglang"), "__version__", None)
    return version if isinstance(version, str) else None


def launch_command(argv: Sequence[str], orig_argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that launched SGLang, masked; empty if this process is not such a launch.

    A spawned child has its parent's ``sys.argv`` and an ``orig_argv`` of its own, so the module is told by the
    script's name.
    """
    script = argv[0].replace("\\", "/").rpartition("/")[2] if argv else ""
    if script not in _LAUNCHERS and "-m" not in orig_argv[:3]:
        return ()
    if script == "sglang":
        return redacted_argv(("sglang", *argv[1:]))
    module = _module_of(argv[0])
    return redacted_argv(("python", "-m", module, *argv[1:])) if module else ()


def _module_of(script: str) -> str:
    parts = script.replace("\\", "/").removesuffix(".py").split("/")
    return ".".join(parts[len(parts) - 1 - parts[::-1].index("sglang") :]) if "sglang" in parts else ""
