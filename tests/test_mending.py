import pytest

from sgl_explain.mending import as_number, as_one_word


@pytest.mark.parametrize(
    ("text", "is_int", "number"),
    [
        ("80%", False, "0.8"), ("80%", True, ""), ("8,192", True, "8192"), ("1_000_000", True, "1000000"),
        ("2.0", True, "2"), ("8k", True, "8192"), ("0,8", False, "0.8"), ("'8'", True, "8"), ("http", True, ""),
        ("", True, ""), ("--", False, ""),
    ],
)  # fmt: skip
def test_the_plain_number_that_a_text_means(text: str, is_int: bool, number: str):
    assert as_number(text, is_int=is_int) == number


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("{a: 1}", '{"a": 1}'),
        ("{'a': 'b'}", '{"a": "b"}'),
        ("{rope: {type: yarn, on: true}}", '{"rope": {"type": "yarn", "on": true}}'),
        ("{a: ", ""),
        ("/my models/x", "'/my models/x'"),
    ],
)
def test_a_value_that_a_shell_took_apart_is_one_word_again(text: str, word: str):
    assert as_one_word(text) == word
