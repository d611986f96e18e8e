"""The command that a ``server_args=…`` line amounts to."""

import pytest

from sgl_explain.log_stream.server_args import command_in

# As 0.4.6 to 0.5.18 print it, shortened; public reports have many such lines.
OLD = (
    "server_args=ServerArgs(model_path='meta-llama/Llama-3.2-1B-Instruct', "
    "tokenizer_path='meta-llama/Llama-3.2-1B-Instruct', tokenizer_mode='auto', skip_tokenizer_init=False, "
    "trust_remote_code=True, quantization=None, served_model_name='meta-llama/Llama-3.2-1B-Instruct', "
    "host='127.0.0.1', port=8000, mem_fraction_static=0.8639842241317652, tp_size=4, random_seed=711975287, "
    "lora_paths=None, cuda_graph_bs=[1, 2, 4], api_key=None, load_balance_method='round_robin')"
)


def test_an_old_releases_arguments_are_spelled_out() -> None:
    assert " ".join(command_in(OLD)) == (
        "python -m sglang.launch_server --model-path meta-llama/Llama-3.2-1B-Instruct --trust-remote-code --port 8000 "
        "--mem-fraction-static 0.8639842241317652 --tp-size 4 --cuda-graph-bs 1 2 4"
    )


def test_a_new_releases_dict_is_read_alike() -> None:
    line = "server_args={'model_path': '/m', 'tokenizer_path': '/t', 'tp_size': 2, '_private': 1, 'dp_size': 1}"

    assert command_in(line)[3:] == ("--model-path", "/m", "--tokenizer-path", "/t", "--tp-size", "2")


@pytest.mark.parametrize(
    "line",
    [
        "server_args=ServerArgs(model_path='/m', tp_size=<object at 0x1>)",
        "server_args=ServerArgs(model_path='/m', tp_size=compute())",
        "server_args={'model_path': '/m', 'lora_paths': [{'a': 1}]}",
        "server_args={'model_path': '/m', 'trust_remo",
        "server_args=OtherArgs(model_path='/m')",
        "server_args={'tp_size': 2}",
        "server_args=",
        "(" * 5000,
    ],
)
def test_what_is_not_certain_is_no_command(line: str) -> None:
    assert command_in(line) == ()
