import pytest

from sgl_explain.command import corrected, shell_text, value_of

LAUNCH = ("python", "-m", "sglang.launch_server")
COMMAND = (*LAUNCH, "--tp-size", "4", "--gc-threshold", "1", "2", "--port=30000", "--enable-lora")


@pytest.mark.parametrize(
    ("set_flags", "removed", "expected"),
    [
        ({"--tp-size": "8"}, (), "--tp-size 8 --gc-threshold 1 2 --port=30000 --enable-lora"),
        ({"--port": "1"}, (), "--tp-size 4 --gc-threshold 1 2 --port=1 --enable-lora"),
        ({"--dp-size": "2"}, (), "--tp-size 4 --gc-threshold 1 2 --port=30000 --enable-lora --dp-size 2"),
        (
            {"--skip-server-warmup": ""},
            (),
            "--tp-size 4 --gc-threshold 1 2 --port=30000 --enable-lora --skip-server-warmup",
        ),
        (
            {"--json-model-override-args": '{"a": 1}'},
            ("--gc-threshold", "--port", "--enable-lora"),
            "--tp-size 4 --json-model-override-args '{\"a\": 1}'",
        ),
        ({}, ("--gc-threshold",), "--tp-size 4 --port=30000 --enable-lora"),
        ({}, ("--port", "--enable-lora"), "--tp-size 4 --gc-threshold 1 2"),
        ({}, ("--absent",), "--tp-size 4 --gc-threshold 1 2 --port=30000 --enable-lora"),
    ],
)
def test_flags_are_set_and_removed_where_they_stand(set_flags: dict[str, str], removed: tuple[str, ...], expected: str):
    assert shell_text(corrected(COMMAND, set_flags, removed)) == f"python -m sglang.launch_server {expected}"


def test_words_are_quoted_for_the_shell_but_home_stays_a_home():
    assert shell_text(("--json", '{"a": 1}', "~/models/x")) == "--json '{\"a\": 1}' ~/models/x"


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--tp-size", "4"), ("--port", "30000"), ("--enable-lora", None), ("--x", None)],
)
def test_a_flags_value_is_read_in_both_spellings(flag: str, value: str | None):
    assert value_of(COMMAND, flag) == value
