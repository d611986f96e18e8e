import pytest

from sgl_explain.command import Change, corrected, shell_text, value_of

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
    assert shell_text(corrected(COMMAND, Change(set_flags, removed))) == f"python -m sglang.launch_server {expected}"


def test_words_are_quoted_for_the_shell_but_home_stays_a_home():
    assert shell_text(("--json", '{"a": 1}', "~/models/x")) == "--json '{\"a\": 1}' ~/models/x"


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--tp-size", "4"), ("--port", "30000"), ("--enable-lora", None), ("--x", None)],
)
def test_a_flags_value_is_read_in_both_spellings(flag: str, value: str | None):
    assert value_of(COMMAND, flag) == value


@pytest.mark.parametrize(
    ("typed", "set_flags", "removed", "expected"),
    [
        ("--tp 4 --port 1", {"--tp-size": "8"}, (), "--tp 8 --port 1"),
        ("--tensor-parallel-size=4", {"--tp-size": "8"}, (), "--tensor-parallel-size=8"),
        ("--tp 4 --tensor-parallel-size 2 --port 1", {}, ("--tp-size",), "--port 1"),
        ("--tp-size 2 --tp 4", {"--tp-size": "8"}, (), "--tp-size 2 --tp 8"),
        ("--enable-lora x", {}, ("--enable-lora",), "x"),
        ("--enable-lora x", {"--enable-lora": ""}, (), "--enable-lora x"),
        ("--tp-size 4 x --port 1", {}, ("--tp-size",), "x --port 1"),
        ("--chunked-prefill-size -1", {}, ("--chunked-prefill-size",), ""),
        ("--lora-paths a b --port 1", {}, ("--lora-paths",), "--port 1"),
        ("--not-a-flag a b --port 1", {}, ("--not-a-flag",), "--port 1"),
        ("--no-lora-strict-loading", {}, ("--lora-strict-loading",), "--no-lora-strict-loading"),
        ("--no-lora-strict-loading", {"--lora-strict-loading": ""}, (), "--lora-strict-loading"),
    ],
)
def test_spellings_of_a_flag_are_one_flag_that_takes_its_own_words(
    typed: str, set_flags: dict[str, str], removed: tuple[str, ...], expected: str
):
    assert shell_text(corrected(typed.split(), Change(set_flags, removed))) == expected


@pytest.mark.parametrize(
    ("typed", "change", "expected"),
    [
        ("--tp_size 4 --port 1", Change(rename={"--tp_size": "--tp-size"}), "--tp-size 4 --port 1"),
        ("--tp_size=4", Change(rename={"--tp_size": "--tp-size"}), "--tp-size=4"),
        ("-tp 4", Change(rename={"-tp": "--tp-size"}), "--tp-size 4"),
        ("--enable-x --port 1", Change(rename={"--enable-x": "--mode=x"}), "--mode=x --port 1"),
        ("--old 1 2 --port 1", Change(rename={"--old": "--a=x --b=x"}), "--a=x --b=x --port 1"),
        ("--port 1", Change(rename={"--tp_size": "--tp-size"}), "--port 1"),
        ("--enable-lora true --port 1", Change(remove=("true",)), "--enable-lora --port 1"),
        (
            "--chat-template true --enable-lora true",
            Change(remove=("true",)),
            "--chat-template true --enable-lora",
        ),
        ("launch a/b --port 1", Change({"--model-path": "a/b"}, ("a/b",)), "launch --port 1 --model-path a/b"),
        ("--enable-lora false", Change(remove=("false", "--enable-lora")), ""),
        (
            "--json-model-override-args {a: 1}",
            Change({"--json-model-override-args": '{"a": 1}'}, ("1}",)),
            "--json-model-override-args '{\"a\": 1}'",
        ),
        ("--model-path /my models", Change({"--model-path": "'/my models'"}, ("models",)), "--model-path '/my models'"),
        ("--chat-template -x --port 1", Change({"--chat-template": "-x"}), "--chat-template=-x --port 1"),
        ("--port 1", Change({"--chat-template": "-x"}), "--port 1 --chat-template=-x"),
        ("--port 1", Change({"--random-seed": "-1"}), "--port 1 --random-seed -1"),
        ("--enable-lora=true", Change({"--enable-lora": ""}), "--enable-lora"),
    ],
)
def test_words_are_renamed_and_bare_ones_removed(typed: str, change: Change, expected: str):
    assert shell_text(corrected(typed.split(), change)) == expected


@pytest.mark.parametrize(
    ("typed", "flag", "value"),
    [
        ("--tp 4", "--tp-size", "4"),
        ("--data-parallel-size=2", "--dp-size", "2"),
        ("--enable-lora x", "--enable-lora", None),
        ("--tp 4 --tp-size 8", "--tp-size", "8"),
        ("--lora-paths a b", "--lora-paths", "a"),
        ("--tp", "--tp-size", None),
        ("", "--tp-size", None),
    ],
)
def test_a_flags_value_is_read_whatever_it_is_called(typed: str, flag: str, value: str | None):
    assert value_of(typed.split(), flag) == value
