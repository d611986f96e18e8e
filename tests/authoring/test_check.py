"""The knowledge check reports every problem at once, with file and id."""

from pathlib import Path

import pytest

from sgl_explain.authoring.__main__ import main
from sgl_explain.authoring.check import file_for, problems_in
from sgl_explain.authoring.scaffold import scaffold

GOOD = """
[widget-count-wrong]
title      = "The widget count is wrong"
raises     = ["ValueError"]
templates  = ["The widget count must be {expected:int}, but got {given:int}."]
upstream   = ["sglang.srt.server_args:check"]
versions   = ">=0.5.16"
meaning    = "There are {given} widgets where {expected} fit."
trigger    = "--widgets was given."
situations = ["The flag was copied."]

[[widget-count-wrong.fixes]]
do            = "Give {expected}."
set           = { "--tp-size" = "{expected}" }
applicability = "safe"

[widget-count-wrong.example]
before = "--widgets 3"
after  = "--widgets 2"

[widget-count-wrong.prevention]
validate = "assert widgets == 2"
habits   = ["Leave it out."]

[[widget-count-wrong.tests]]
message  = "The widget count must be 2, but got 3."
captures = { expected = "2", given = "3" }
"""

TRIGGER = 'trigger    = "--widgets was given."'
FIXES = "[[widget-count-wrong.fixes]]\n"


@pytest.fixture
def check(tmp_path: Path):
    def run(text: str, place: str = "srt/server_args.toml") -> list[str]:
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return problems_in(tmp_path)

    return run


def test_a_good_entry_has_no_problems(check):
    assert check(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("widget-count-wrong", "Widget_count", "id: use kebab-case"),
        ('title      = "The widget count is wrong"', 'title = "It is wrong."', "title: no full stop"),
        ('versions   = ">=0.5.16"', 'versions = "new"', "is not a range such as"),
        ('applicability = "safe"', 'applicability = "sure"', "applicability 'sure' is none of"),
        ("There are {given} widgets", "There are {number} widgets", "meaning: no template captures {number}"),
        ("There are {given} widgets where {expected} fit.", "Check your configuration.", "filler"),
        ('"The flag was copied."', '"the flag was"', "not a whole sentence"),
        ('validate = "assert widgets == 2"', 'validate = "assert widgets = 2"', "prevention.validate: not Python"),
        ('before = "--widgets 3"', """before = "--widgets '3" """, "example.before: not a shell command"),
        ('message  = "The widget count must be 2, but got 3."', 'message = "Something else."', "test 1: finds nothing"),
        ('given = "3" }', 'given = "4" }', "captures given = '3', not '4'"),
        (TRIGGER, 'trigger = "It was."\nrelated = ["nothing-known"]', "no other entry is called"),
        (TRIGGER, "", "widget-count-wrong.trigger: is missing"),
        (TRIGGER, 'trigger = "It was."\ncolour = "red"', "unknown key"),
        ("{expected:int}, but", "{expected:integer}, but", "no kind 'integer'"),
        (FIXES, '[[widget-count-wrong.fixes]]\nwhen = { colour = "red" }\n', "condition 'colour'"),
        (FIXES, '[[widget-count-wrong.fixes]]\nremedy = "nap"\n', "no remedy is called 'nap'"),
    ],
)  # fmt: skip
def test_each_rule_says_what_is_wrong(check, old: str, new: str, problem: str):
    assert old in GOOD
    found = check(GOOD.replace(old, new))

    assert any(problem in line for line in found), found


def test_problems_of_several_kinds_are_reported_together(check):
    found = check(GOOD.replace("The flag was copied.", "the flag").replace(">=0.5.16", "new"))

    assert len(found) == 2
    assert all(line.startswith("srt/server_args.toml: widget-count-wrong: ") for line in found)


def test_a_file_mirrors_its_module(check):
    assert "its first upstream belongs in srt/server_args.toml" in check(GOOD, "srt/other.toml")[0]


def test_entries_are_sorted(check):
    first = GOOD.replace("widget", "gadget")

    assert any("entries are sorted by id; gadget-count-wrong comes here" in line for line in check(GOOD + first))


def test_a_message_that_two_unrelated_entries_claim_is_reported(check):
    twin = GOOD.replace("widget-count-wrong", "widget-number-wrong")

    assert any("finds nothing" in line or "only as similar" in line for line in check(GOOD + twin))


def test_a_text_that_three_entries_share_has_to_be_a_remedy(check):
    texts = "".join(
        GOOD.replace("widget", name).replace("Leave it out.", "Leave the whole matter to the defaults of SGLang.")
        for name in ("bolt", "gadget", "widget")
    )

    assert any("make it a remedy" in line for line in check(texts))


@pytest.mark.parametrize(
    ("upstream", "file"),
    [
        ("sglang.srt.server_args:check", "srt/server_args.toml"),
        ("sglang.lang.backend.openai:OpenAI.generate", "lang/backend/openai.toml"),
        ("sglang.srt.models.*:load_weights", "srt/models.toml"),
        ("sglang_router", "router/router.toml"),
        ("torch", "third_party/torch.toml"),
        ("transformers.models.auto:f", "third_party/transformers.toml"),
    ],
)
def test_the_first_upstream_names_the_file(upstream: str, file: str):
    assert file_for(upstream) == file


def test_the_bundled_entries_pass():
    assert main(["check"]) == 0


def test_a_broken_folder_ends_with_one(tmp_path: Path, capsys):
    assert main(["check", "--entries", str(tmp_path / "nowhere")]) == 1
    assert "no such file or folder" in capsys.readouterr().out


def test_a_scaffold_holds_what_the_traceback_tells():
    page = scaffold(
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3/dist-packages/sglang/srt/server_args.py", line 3, in check\n'
        "    raise ValueError(x)\n"
        "ValueError: The widget count must be 2, but got '3'.\n"
    )

    assert "# belongs in src/sgl_explain/data/entries/srt/server_args.toml" in page
    assert 'raises     = ["ValueError"]' in page
    assert "The widget count must be {value1}, but got '{value2}'." in page
    assert 'value1 = "2", value2 = "3"' in page
    assert 'upstream   = ["sglang.srt.server_args:check"]' in page
