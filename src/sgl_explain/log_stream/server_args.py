"""The command that a log's ``server_args=…`` line amounts to.

Up to 0.5.18 the line shows ``ServerArgs(model_path='…', …)``, later a dict; both after SGLang has put its own choices
where nothing was given (sglang/srt/entrypoints/engine.py). What was typed cannot be told from what was chosen, so all
that differs from the defaults is spelled out: the command starts the same server. Left out is only what comes out the
same on any machine, and what repeats another argument.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Final

from sgl_explain.flags import Flag, known_flags

_BEGINNING: Final = "server_args="
_ALWAYS_CHOSEN: Final = frozenset({"random_seed", "nccl_port", "cuda_graph_config"})
# What a release settles on for arguments that are not given, on any machine: 0.4.6.post5 to 0.5.23.
_SETTLED: Final[Mapping[str, tuple[object, ...]]] = {
    "boundary_reduction": ("rs+rsv",),
    "dcp_comm_backend": ("ag_rs",),
    "encoder_transfer_backend": ("zmq_to_scheduler",),
    "expert_distribution_recorder_buffer_size": (1000, -1),
    "file_storage_path": ("sglang_storage",),
    "hicache_ratio": (2.0,),
    "hicache_storage_prefetch_retry_max_attempts": (4, 8),
    "hicache_storage_prefetch_retry_poll_interval": (0, 8),
    "load_balance_method": ("round_robin",),
    "mamba_full_memory_ratio": (0.9,),
    "mm_feature_transport": ("cpu", "default"),
    "speculative_boundary_reduction": ("rs+rsv",),
    "speculative_moe_runner_backend": ("auto",),
    "swa_full_tokens_ratio": (0.8,),
    "watermark_config": ("<redacted>",),
}
_SAME_AS: Final = {"tokenizer_path": "model_path", "served_model_name": "model_path"}


def command_in(text: str) -> tuple[str, ...]:
    """Return the launch command of a ``server_args=…`` line; empty where one of the values has no certain spelling."""
    given = _arguments_in(text)
    if not isinstance(given.get("model_path"), str):
        return ()
    words: list[str] = []
    for name, value in given.items():
        spelling = f"--{name.replace('_', '-')}"
        flag = known_flags().get(spelling)
        if flag is None or _goes_without_saying(name, value, given):
            continue
        values = _values_for(flag, value)
        if values is None:
            return ()
        words += [spelling, *values]
    return ("python", "-m", "sglang.launch_server", *words)


def _goes_without_saying(name: str, value: object, given: Mapping[str, object]) -> bool:
    flag = known_flags()[f"--{name.replace('_', '-')}"]
    if name in _ALWAYS_CHOSEN or value in _SETTLED.get(name, ()) or value is None or value == flag.default:
        return True
    if flag.default is None and value in (False, [], {}, ""):
        return True
    return name in _SAME_AS and value == given.get(_SAME_AS[name])


class _Unreadable:
    """A value that is no literal."""


def _arguments_in(text: str) -> Mapping[str, object]:
    _, _, shown = text.partition(_BEGINNING)
    try:
        tree = ast.parse(shown.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    return dict(_pairs_of(tree))


def _pairs_of(tree: ast.expr) -> Iterator[tuple[str, object]]:
    match tree:
        case ast.Call(func=ast.Name(id="ServerArgs"), keywords=keywords):
            pairs = [(keyword.arg or "", keyword.value) for keyword in keywords]
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (str(key.value), value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            ]
        case _:
            pairs = []
    for name, value in pairs:
        try:
            yield name, ast.literal_eval(value)
        except ValueError:
            yield name, _Unreadable()


def _values_for(flag: Flag, value: object) -> list[str] | None:
    """Return the words behind a flag that give it a value; None where they are not certain."""
    match flag.takes, value:
        case "nothing", True:
            return []
        case "value", dict():
            return [json.dumps(value)]
        case "value", str() | int() | float() if not isinstance(value, bool):
            return [str(value)]
        case "values", list() if value and all(isinstance(item, str | int | float) for item in value):
            return [str(item) for item in value]
        case _:
            return None
