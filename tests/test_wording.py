import pytest

from sgl_explain.evidence import Context
from sgl_explain.wording import Circumstances, condition_text, filled, filled_code, holds

COMMAND = ("python", "-m", "sglang.launch_server", "--tp", "4", "--enable-lora")


def test_a_text_is_filled_and_folded_into_paragraphs():
    assert filled("One {a}\nline.\n\nAnother {a}.", {"a": "1"}) == "One 1 line.\n\nAnother 1."


def test_sentences_whose_values_are_not_known_are_left_out():
    assert filled("It is {a}. It is {b}. It ends.", {"a": "1"}) == "It is 1. It ends."


def test_code_whose_values_are_not_known_is_left_out():
    assert filled_code("x = {b}", {"a": "1"}) is None
    assert filled_code('x = {{"a": {a}}}', {"a": "1"}) == 'x = {"a": 1}'


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, True),
        ({"release": ">=0.5.16"}, True),
        ({"release": "<0.5.16"}, False),
        ({"phase": "load|prefill"}, True),
        ({"phase": "decode"}, False),
        ({"code": "^-9$"}, True),
        ({"code": "^-6$"}, False),
        ({"other": "x"}, False),
        ({"other": "absent"}, True),
        ({"code": "absent"}, False),
        ({"--tp-size": "absent"}, False),
        ({"--tp-size": "."}, True),
        ({"--tp-size": "^8$"}, False),
        ({"--dp-size": "absent"}, True),
        ({"--enable-lora": ""}, True),
    ],
)
def test_conditions_are_decided_by_values_context_and_command(when: dict[str, str], expected: bool | None):
    context = Context(release="0.5.19", phase="load", command=COMMAND)

    assert holds(when, Circumstances({}, {"code": "-9"}, context)) is expected


@pytest.mark.parametrize("when", [{"release": ">=0.5.16"}, {"phase": "load"}, {"code": "^-9$"}, {"--tp-size": "."}])
def test_what_is_not_known_decides_nothing(when: dict[str, str]):
    assert holds(when, Circumstances()) is None


def test_undecided_conditions_are_told_in_words():
    told = condition_text({"release": ">=0.5.16", "phase": "load|decode", "code": "^-9$"}, Circumstances())

    assert told == "sglang >=0.5.16; while the weights load or during decode; code -9"


def test_that_a_value_is_there_or_not_is_left_to_the_text():
    told = condition_text({"code": ".", "other": "absent", "--tp-size": "absent"}, Circumstances())

    assert told == "without --tp-size"


@pytest.mark.parametrize(
    ("when", "told"),
    [
        ({"--device": "^cpu$"}, "with --device cpu"),
        ({"--attention-backend": "flashinfer|cutedsl"}, "with --attention-backend flashinfer or cutedsl"),
        ({"--max-total-tokens": "\\d"}, "with --max-total-tokens set"),
        ({"--page-size": "."}, "with --page-size"),
        ({"--page-size": ".+"}, "with --page-size"),
        ({"message": "flashinfer 0\\.6\\.17|requires"}, "the message says flashinfer 0.6.17 or requires"),
        ({"message": "^(?!.*MLA)"}, ""),
        ({"tp": "^(?!8$)", "phase": "load"}, "while the weights load"),
        ({"what": "^head$"}, "what head"),
        ({"oom_kills": "^[1-9]"}, "oom kills above 0"),
        ({"shm_size_mb": "^\\d{1,3}$"}, "shm size mb below 1000"),
    ],
)
def test_conditions_hold_no_regular_expression(when: dict[str, str], told: str):
    assert condition_text(when, Circumstances()) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("['fa3', 'triton']", "fa3, triton"),
        ("('none',)", "none"),
        ('{"embed_tokens"}', "embed_tokens"),
        ("[]", "[]"),
        ("{'factor': 2.0}", "{'factor': 2.0}"),
        ("[64, 128]", "[64, 128]"),
        ("['it is, 'quoted']", "['it is, 'quoted']"),
    ],
)
def test_a_list_of_strings_is_told_as_words(value: str, told: str):
    assert filled("There are {these}.", {"these": value}) == f"There are {told}."
