import pytest

from sgl_explain.entry import entry_from, entry_to_dict
from sgl_explain.errors import KnowledgeError

MINIMAL = {
    "title": "Something fails",
    "raises": ["ValueError"],
    "templates": ["something very particular fails with {n:int}"],
    "upstream": ["sglang.srt.server_args:check"],
    "versions": ">=0.5.16",
    "meaning": "It is {n}.",
    "trigger": "It was given.",
    "situations": ["One."],
    "fixes": [{"do": "Leave it out.", "applicability": "safe"}],
    "example": {"before": "a", "after": "b"},
    "prevention": {"habits": ["Habit."]},
    "tests": [{"message": "something very particular fails with 3", "captures": {"n": "3"}}],
}


def test_what_is_written_is_read_back():
    entry = entry_from("x-fails", MINIMAL)
    data = entry_to_dict(entry)

    assert entry_from(data.pop("id"), data) == entry


def test_a_required_field_survives_though_it_is_empty():
    entry = entry_from("x-fails", {**MINIMAL, "raises": []})

    assert entry_to_dict(entry)["raises"] == []


def test_every_problem_is_reported_with_its_place():
    broken = {**MINIMAL, "colour": "red", "raises": "ValueError", "fixes": [{"do": 3}]}
    del broken["title"]

    with pytest.raises(KnowledgeError) as caught:
        entry_from("x-fails", broken, "srt/x.toml")

    assert len(caught.value.problems) == 4
    assert "srt/x.toml: x-fails.colour: unknown key" in str(caught.value)
    assert "srt/x.toml: x-fails.title: is missing" in str(caught.value)
    assert "srt/x.toml: x-fails.fixes[0].do: is int, expected a text" in str(caught.value)


@pytest.mark.parametrize(
    ("upstream", "third_party"), [("sglang.srt.server_args:f", False), ("torch", True), ("sglang_router", False)]
)
def test_third_parties_are_told_by_their_package(upstream: str, third_party: bool):
    assert entry_from("x", {**MINIMAL, "upstream": [upstream]}).is_third_party is third_party
