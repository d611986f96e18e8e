"""Explanations carry fixes whose values follow from the launch command that failed."""

import pytest

from sgl_explain.diagnosis import scan
from sgl_explain.entry import Entry, entry_from, entry_to_dict
from sgl_explain.evidence import Context, Evidence, Raised
from sgl_explain.explanation import Explanation, explained, explanation_of
from sgl_explain.knowledge_base import Knowledge, bundled_knowledge

MESSAGE = "the sizes of the groups do not fit"


def entry_with(*fixes: dict[str, object]) -> Entry:
    return entry_from(
        "sizes-do-not-fit",
        {
            "title": "The sizes do not fit",
            "raises": ["AssertionError"],
            "templates": [MESSAGE],
            "upstream": ["sglang.srt.server_args:check"],
            "versions": ">=0.4.6",
            "meaning": "They do not.",
            "trigger": "They did not.",
            "situations": [],
            "fixes": list(fixes),
            "example": {"before": "", "after": ""},
            "prevention": {"habits": []},
            "tests": [],
        },
    )


DIVISOR = {
    "do": "Make the DP size {choice}.",
    "applicability": "safe",
    "choose": {"--dp-size": "divisor of --tp-size"},
}
MULTIPLE = {"do": "Take {choice} tokens.", "choose": {"--chunked-prefill-size": "multiple of --page-size"}}
PLAIN = {"do": "Leave it out."}


def explain(entry: Entry, command: str) -> Explanation:
    context = Context(deliberate=True, command=tuple(command.split()))
    found = explained(Evidence((Raised(("AssertionError",), MESSAGE),), context), Knowledge([entry]))
    assert found is not None
    return found


def test_a_fix_is_told_once_for_each_nearest_value_that_fits():
    first, second = explain(entry_with(DIVISOR), "launch --tp-size 4 --dp-size 3").fixes

    assert (first.do, second.do) == ("Make the DP size 2.", "Make the DP size 4.")
    assert (first.set, second.set) == ({"--dp-size": "2"}, {"--dp-size": "4"})
    assert first.command == "launch --tp-size 4 --dp-size 2"
    assert second.command == "launch --tp-size 4 --dp-size 4"


def test_a_cause_whose_sign_is_the_text_itself_is_decided_by_the_text():
    cases = [
        {"sign": "The text says sizes.", "means": "The sizes differ.", "when": {"message": "sizes"}},
        {"sign": "The text says ranks.", "means": "The ranks differ.", "when": {"message": "ranks"}},
    ]
    entry = entry_from("sizes-do-not-fit", {**entry_to_dict(entry_with(PLAIN)), "cases": cases})

    assert [cause.means for cause in explain(entry, "").causes] == ["The sizes differ."]
    assert [cause.sign for cause in explanation_of(entry).causes] == ["The text says sizes.", "The text says ranks."]


@pytest.mark.parametrize(
    ("fix", "command", "values"),
    [
        (DIVISOR, "--tensor-parallel-size=12 --data-parallel-size 5", ["4", "6"]),
        (DIVISOR, "--tp 4 --dp 8", ["4"]),
        (DIVISOR, "--tp 4 --dp 2", []),
        (DIVISOR, "--tp 4", []),
        (DIVISOR, "--tp four --dp 3", []),
        (DIVISOR, "--tp 4 --dp 0", []),
        (DIVISOR, "--tp 999999999 --dp 2", []),
        (MULTIPLE, "--chunked-prefill-size 1000 --page-size 64", ["960", "1024"]),
        (MULTIPLE, "--chunked-prefill-size 40 --page-size 64", ["64"]),
        (MULTIPLE, "--chunked-prefill-size -1 --page-size 64", []),
        (MULTIPLE, "--chunked-prefill-size 128 --page-size 64", []),
    ],
)
def test_the_values_are_positive_and_nearest_and_follow_from_both_flags(fix, command: str, values: list[str]):
    fixes = explain(entry_with(fix), f"launch {command}").fixes

    assert [next(iter(told.set.values())) for told in fixes] == values


def test_a_fix_that_chooses_keeps_what_else_it_sets():
    fix = {**DIVISOR, "set": {"--enable-dp-attention": ""}}

    told = explain(entry_with(fix), "launch --tp 4 --dp 3").fixes[0]

    assert told.set == {"--enable-dp-attention": "", "--dp-size": "2"}


def test_a_fix_that_chooses_is_left_out_where_the_command_is_not_known():
    entry = entry_with(DIVISOR, PLAIN)

    assert [fix.do for fix in explain(entry, "").fixes] == ["Leave it out."]
    assert [fix.do for fix in explanation_of(entry).fixes] == ["Leave it out."]


LAUNCH = "python -m sglang.launch_server --model-path m"


def argument_error(left_over: str, release: str | None = "0.5.23") -> Explanation:
    context = Context(deliberate=True, release=release, command=tuple(f"{LAUNCH} {left_over}".split()))
    raised = Raised(("SystemExit",), f"unrecognized arguments: {left_over}")
    found = explained(Evidence((raised,), context), bundled_knowledge())
    assert found is not None
    return found


def test_the_facts_about_the_one_word_in_question_are_captured_values():
    captures = argument_error("--tp_size 2").captures

    assert (captures["word"], captures["spelled"], captures["installed"]) == ("--tp_size", "--tp-size", "0.5.23")


def test_each_word_of_an_argument_error_has_its_fixes_and_a_command_mends_all_words():
    page = argument_error("--tp_size 2 --torchao-config int8wo --mem-fracton-static 0.8")

    assert [fix.word for fix in page.fixes] == ["--tp_size", "--torchao-config", "--mem-fracton-static"]
    assert {fix.command for fix in page.fixes} == {f"{LAUNCH} --tp-size 2 --mem-fraction-static 0.8"}


def test_alternatives_of_a_word_are_told_one_by_one():
    commands = [fix.command for fix in argument_error("--zp-size 2").fixes]

    assert commands == [f"{LAUNCH} {name} 2" for name in ("--dp-size", "--ep-size", "--pp-size")]


def test_a_fix_for_want_of_a_better_one_is_told_only_then():
    assert [fix.set for fix in explain(entry_with({**PLAIN, "otherwise": True}, DIVISOR), "x --tp 4 --dp 3").fixes] == [
        {"--dp-size": "2"},
        {"--dp-size": "4"},
    ]
    assert [fix.do for fix in explain(entry_with({**PLAIN, "otherwise": True}, DIVISOR), "x").fixes] == [PLAIN["do"]]


def test_the_release_and_the_command_of_a_log_decide_what_is_told():
    log = [
        "2026-01-01 10:00:00 image lmsysorg/sglang:v0.5.10",
        "+ python -m sglang.launch_server --model-path m --cuda-graph-max-bs-decode 8",
        "usage: launch_server.py [-h] --model-path MODEL_PATH",
        "launch_server.py: error: unrecognized arguments: --cuda-graph-max-bs-decode 8",
    ]

    (page,) = scan(log)

    assert page.captures["new_in"] == "0.5.14"
    assert page.fixes[0].command == "python -m sglang.launch_server --model-path m --cuda-graph-max-bs 8"


def test_a_log_without_its_command_line_gives_the_corrected_command_all_the_same() -> None:
    log = [
        "[2025-08-08 09:09:08] server_args=ServerArgs(model_path='/m', tp_size=2, mem_fraction_static=0.7)",
        "[2025-08-08 09:09:09 TP0] Load weight end. type=LlamaForCausalLM, avail mem=1.86 GB",
        "[2025-08-08 09:09:10 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/x/sglang/srt/model_executor/model_runner.py", line 5584, in init_memory_pool',
        "    raise RuntimeError(",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ]

    (page,) = scan(log)

    assert any(fix.command.startswith("python -m sglang.launch_server --model-path /m") for fix in page.fixes)
