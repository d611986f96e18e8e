"""What surrounds a failure in this process: the SGLang release at hand, the launch command, the phase."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from sgl_explain.evidence import Context, Frame, sglang_is_loaded
from sgl_explain.redact import redacted_argv

# Innermost first: a frame in one of these modules, or in one of these functions, tells the phase.
# Read off sglang 0.4.6.post5 to 0.5.23 (srt/model_executor, srt/mem_cache, srt/model_loader, srt/managers).
_PHASE_BY_FUNCTION: Final = {
    "prepare_server_args": "arguments",
    "check_server_args": "arguments",
    "resolve_once": "arguments",
    "load_model": "load",
    "load_weights": "load",
    "init_memory_pool": "kv_pool",
    "profile_max_num_token": "kv_pool",
    "init_cuda_graphs": "graph_capture",
    "init_device_graphs": "graph_capture",
    "capture_one_batch_size": "graph_capture",
    "forward_extend": "prefill",
    "get_next_batch_to_run": "prefill",
    "forward_decode": "decode",
    "update_running_batch": "decode",
}
_PHASE_BY_MODULE: Final = {
    "sglang.srt.server_args": "arguments",
    "sglang.srt.arg_groups": "arguments",
    "sglang.srt.model_loader": "load",
    "sglang.srt.model_executor.cuda_graph_runner": "graph_capture",
    "sglang.srt.model_executor.model_runner_kv_cache_mixin": "kv_pool",
}
_LAUNCHERS: Final = ("launch_server.py", "sglang", "launch_router.py", "bench_one_batch.py")


def phase_of(frames: Iterable[Frame]) -> str | None:
    """Return the phase in which a traceback's innermost telling frame lies, if one tells."""
    for frame in reversed(tuple(frames)):
        phase = _PHASE_BY_FUNCTION.get(frame.function) if frame.in_sglang else None
        if phase := phase or _phase_of_module(frame.module):
            return phase
    return None


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
