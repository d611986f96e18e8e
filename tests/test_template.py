import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgl_explain.errors import TemplateError
from sgl_explain.template import Template

DSPARK = (
    "DSpark speculative_num_draft_tokens must equal gamma + 1 (= {expected:int} for gamma={gamma:int}), "
    "but got speculative_num_draft_tokens={given:int}."
)


def values_of(template: str, message: str) -> dict[str, str] | None:
    match = Template.parse(template).match(message)
    return dict(match.values) if match else None


def test_captures_every_value_by_name():
    message = (
        "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
        "but got speculative_num_draft_tokens=8."
    )

    assert values_of(DSPARK, message) == {"expected": "5", "gamma": "4", "given": "8"}


def test_finds_the_message_inside_a_longer_text():
    text = "ERROR: top_p must be in (0, 1], got 3.\nmore"

    assert values_of("top_p must be in (0, 1], got {given}.", text) == {"given": "3"}


def test_a_placeholder_at_the_start_begins_at_its_line():
    assert values_of("{name} is not a known adapter", "first line\nalpha is not a known adapter") == {"name": "alpha"}


def test_a_placeholder_at_the_end_takes_the_rest_of_the_line():
    text = "Unknown algorithm name: MEDUSA two\nnext"

    assert values_of("Unknown algorithm name: {name}", text) == {"name": "MEDUSA two"}


def test_white_space_matches_any_white_space():
    assert values_of("not enough  memory for {n:int} tokens", "not enough\n memory for 12 tokens") == {"n": "12"}


def test_literal_braces_are_doubled():
    assert values_of('a body {{"error"}} with {code:int}', 'a body {"error"} with 400') == {"code": "400"}


def test_an_int_does_not_match_a_word():
    assert values_of("got {n:int} items here", "got many items here") is None


def test_a_word_at_the_edge_is_not_found_inside_a_longer_word():
    assert values_of("rank {n:int}", "frank 3") is None


def test_a_placeholder_may_name_its_words():
    template = "{name:top_p|min_p} must be in {range}"

    assert values_of(template, "min_p must be in [0, 1]") == {"name": "min_p", "range": "[0, 1]"}
    assert values_of(template, "noise must be in [0, 1]") is None


def test_a_block_spans_lines():
    assert values_of("begin {body:block} end of it", "begin a\nb\nc end of it") == {"body": "a\nb\nc"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{a}{b} words", "side by side"),
        ("{a} and {a} again", "used twice"),
        ("{a:date} words", "no kind 'date'"),
        ("{A} words", "not a name in lower case"),
        ("{a}", "no literal text"),
        ("one { brace", "'}'"),
    ],
)
def test_says_what_is_wrong_with_a_template(text: str, problem: str):
    with pytest.raises(TemplateError, match=problem):
        Template.parse(text)


def test_words_leave_out_what_touches_a_placeholder():
    assert Template.parse("size{n}tokens of chunk {name}").words == {"of", "chunk"}


words = st.text("abcdefgh", min_size=1, max_size=8)
values = st.text("xyz 0123456789/'-", min_size=1, max_size=20).filter(lambda text: text == text.strip())


@given(st.lists(words, min_size=2, max_size=6), st.data())
def test_a_filled_template_matches_with_the_same_values(literals: list[str], data: st.DataObject):
    names = [f"p{index}" for index in range(len(literals) - 1)]
    text = "".join(f"{literal} {{{name}}} " for literal, name in zip(literals, names, strict=False)) + literals[-1]
    filling = {name: data.draw(values, label=name) for name in names}

    assert values_of(text, Template.parse(text).fill(filling)) == filling


@given(st.text(max_size=300))
def test_no_message_makes_matching_fail(message: str):
    for template in (DSPARK, "{a} of {b} in {c} words", "words {body:block} and {rest}"):
        Template.parse(template).match(message)


def test_a_long_hostile_message_is_matched_in_few_steps():
    message = "a " + "b c " * 4000

    assert values_of("a {x} b {y} c {z} d", message) is None


def test_a_final_full_stop_is_not_a_point_inside_a_word():
    assert values_of("Supported: {names}.", "Supported: Qwen2VL, Qwen3.5, Kimi.") == {"names": "Qwen2VL, Qwen3.5, Kimi"}


def test_a_text_may_use_a_name_twice():
    assert Template.of_text("{gamma} is {gamma}{unit}").fill({"gamma": "4", "unit": "x"}) == "4 is 4x"
