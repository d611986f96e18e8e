"""What the README says is what the commands print."""

import re
from pathlib import Path

import pytest

import sgl_explain
from sgl_explain.authoring.__main__ import main
from sgl_explain.flags import known_releases

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_figures_are_the_ones_the_check_prints(capsys):
    main(["check"])
    printed = re.findall(r"(\d+) ([a-zA-Z ]+?)(?:,|\n)", capsys.readouterr().out)

    assert printed
    for number, name in printed:
        assert f"| {name} | {number} |" in README


@pytest.mark.parametrize("entry_id", re.findall(r"sgl-explain show ([\w-]+)", README))
def test_the_entries_it_names_exist(entry_id: str):
    assert sgl_explain.knowledge().get(entry_id).id == entry_id


@pytest.mark.parametrize("message", re.findall(r'^    sgl-explain "(.+)"$', README, re.MULTILINE))
def test_the_messages_it_shows_are_explained(message: str):
    assert sgl_explain.diagnose(message) is not None


def test_its_test_command_is_what_the_judge_runs():
    assert "bash scripts/test" in README
    assert "scripts/test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_releases_whose_flags_are_known_are_as_many_as_it_says():
    first, last = known_releases()[0], known_releases()[-1]

    assert f"looked up in all {len(known_releases())} releases from {first} to {last}" in README
