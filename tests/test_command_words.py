import pytest

from sgl_explain.command_words import Part, bare_words, is_flag_word, parts_in

LAUNCH = ("python", "-m", "sglang.launch_server", "--model-path", "m")


@pytest.mark.parametrize(
    ("left_over", "parts"),
    [
        ("--foo 3 --bar", (Part("--foo", ("3",)), Part("--bar"))),
        ("--foo=3", (Part("--foo", ("3",)),)),
        ("\u2013tp 4", (Part("\u2013tp", ("4",)),)),
        ("true", (Part("true"),)),
        ("-1 x", (Part("-1"), Part("x"))),
        ("", ()),
    ],
)
def test_words_belong_to_the_flag_before_them(left_over: str, parts: tuple[Part, ...]):
    assert parts_in(left_over, ()) == parts


@pytest.mark.parametrize(
    ("command", "left_over", "parts"),
    [
        (("--trust-remote-code", "true"), "true", (Part("true", after="--trust-remote-code"),)),
        (
            ("--foo", "x", "--trust-remote-code", "true"),
            "--foo x true",
            (Part("--foo", ("x",)), Part("true", after="--trust-remote-code")),
        ),
        (
            ("--json-model-override-args", "{a:", "1}"),
            "1}",
            (Part("1}", after="--json-model-override-args", before=("{a:",)),),
        ),
        (("--tp-size", "4", "--foo", "4"), "--foo 4", (Part("--foo", ("4",)),)),
        (("--tp-size=4", "5"), "5", (Part("5", after="--tp-size", before=("4",)),)),
    ],
)
def test_the_command_tells_what_belongs_together(command: tuple[str, ...], left_over: str, parts: tuple[Part, ...]):
    assert parts_in(left_over, (*LAUNCH, *command)) == parts


def test_bare_words_stand_before_the_first_flag():
    assert list(bare_words(("python", "-m", "sglang.launch_server", "a/b", "--port", "1"))) == ["a/b"]
    assert list(bare_words(("sglang", "serve", "a/b"))) == ["a/b"]


@pytest.mark.parametrize(("word", "is_flag"), [("--x", True), ("-x", True), ("-1", False), ("--", False), ("x", False)])
def test_a_flag_begins_with_a_dash_and_is_no_number(word: str, is_flag: bool):
    assert is_flag_word(word) is is_flag
