import pytest

from sgl_explain.spelling import completed, nearest, same_but_for_form

NAMES = ("--tp-size", "--dp-size", "--mem-fraction-static", "--max-running-requests")


@pytest.mark.parametrize("word", ["--tp_size", "-tp-size", "\u2013tp-size", "\u2014tp_size", "--TP-Size", "tp_size"])
def test_dashes_underscores_and_case_are_form(word: str):
    assert same_but_for_form(word, NAMES) == "--tp-size"


def test_another_word_is_no_form_of_a_name():
    assert same_but_for_form("--tp-sise", NAMES) is None


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("--mem-fracton-static", ("--mem-fraction-static",)),
        ("--max_running_request", ("--max-running-requests",)),
        ("--xp-size", ("--tp-size", "--dp-size")),
        ("--quantisation-of-nothing", ()),
    ],
)
def test_the_nearest_names_are_told_all_of_them_where_they_are_about_even(word: str, names: tuple[str, ...]):
    assert nearest(word, NAMES) == names


@pytest.mark.parametrize(
    ("word", "names"), [("-tp", ("--tp-size",)), ("--m", ()), ("--mem_f", ("--mem-fraction-static",))]
)
def test_a_word_cut_short_is_completed(word: str, names: tuple[str, ...]):
    assert completed(word, NAMES) == names
