"""What an argument error is told from the facts about flags, for the release at hand."""

import random
import string
from pathlib import Path

import pytest

from sgl_explain.argument_facts import FACTS, Rejection, facts_about
from sgl_explain.entry_files import read_entries
from sgl_explain.evidence import Context
from sgl_explain.flags import Flag, known_flags, known_releases

ENTRIES = Path(__file__).resolve().parents[1] / "src" / "sgl_explain" / "data" / "entries"
SERVER = ("python", "-m", "sglang.launch_server")
BENCH = ("python", "-m", "sglang.bench_serving")
SEED = 20


def told(kind: str, message: str = "", release: str | None = None, command: tuple[str, ...] = (), **captures: str):
    rejection = Rejection(captures, message, Context(release=release, command=command))
    return [
        {name: fact for name, fact in facts.items() if name not in ("installed", "newest")}
        for facts in facts_about(kind, rejection)
    ]


def about(flags: str, release: str | None = "0.5.23", command: tuple[str, ...] = ()):
    return told("unknown flags", f"unrecognized arguments: {flags}", release, command, flags=flags)


@pytest.mark.parametrize(
    ("flags", "release", "facts"),
    [
        ("--tp_size 2", "0.5.23", {"spelled": "--tp-size"}),
        ("-tp 2", "0.5.23", {"spelled": "--tp-size"}),
        ("--mem-fracton-static", "0.5.23", {"nearest": "--mem-fraction-static"}),
        ("--qqqq", "0.5.23", {}),
        (
            "--cuda-graph-max-bs 8", "0.5.23",
            {"meant": "--cuda-graph-max-bs", "removed_in": "0.5.20", "last": "0.5.19",
             "renamed": "--cuda-graph-max-bs-decode"},
        ),
        (
            "--nsa_prefill fa3", "0.5.23",
            {"meant": "--nsa-prefill", "removed_in": "0.5.4", "last": "0.5.3.post3",
             "renamed": "--dsa-prefill-backend"},
        ),
        (
            "--nsa-prefill no_backend", "0.5.23",
            {"meant": "--nsa-prefill", "removed_in": "0.5.4", "last": "0.5.3.post3",
             "replacement": "--dsa-prefill-backend"},
        ),
        (
            "--nsa-prefill fa3", "0.5.4",
            {"meant": "--nsa-prefill", "removed_in": "0.5.4", "last": "0.5.3.post3",
             "renamed": "--nsa-prefill-backend"},
        ),
        (
            "--enable-deepep-moe", "0.5.23",
            {"meant": "--enable-deepep-moe", "removed_in": "0.5.4.post1", "last": "0.5.4",
             "renamed": "--moe-a2a-backend=deepep"},
        ),
        (
            "--enable-ep-moe", "0.5.23",
            {"meant": "--enable-ep-moe", "removed_in": "0.5.4.post1", "last": "0.5.4", "replacement": "--ep-size"},
        ),
        (
            "--torchao-config x", "0.5.23",
            {"meant": "--torchao-config", "removed_in": "0.5.18", "last": "0.5.17"},
        ),
        (
            "--prefill-cp-mode in-seq-split", "0.5.23",
            {"meant": "--prefill-cp-mode", "removed_in": "0.5.20", "last": "0.5.19", "replacement": "--cp-strategy"},
        ),
        (
            "--piecewise-cuda-graph-compiler eager", "0.5.23",
            {"meant": "--piecewise-cuda-graph-compiler", "removed_in": "0.5.20", "last": "0.5.19"},
        ),
        ("--attn-dp-size 2", "0.5.19", {"meant": "--attn-dp-size", "new_in": "0.5.22"}),
        (
            "--cuda-graph-max-bs-decode 8", "0.5.10",
            {"meant": "--cuda-graph-max-bs-decode", "new_in": "0.5.14", "renamed": "--cuda-graph-max-bs"},
        ),
        (
            "--hisparse-config x", "0.5.9",
            {"meant": "--hisparse-config", "new_in": "0.5.10",
             "renamed": "--hierarchical-sparse-attention-extra-config"},
        ),
        (
            "--hierarchical-sparse-attention-extra-config x", "0.5.10",
            {"meant": "--hierarchical-sparse-attention-extra-config", "renamed": "--hisparse-config"},
        ),
        (
            "--cuda-graph-max-bs 8", None,
            {"meant": "--cuda-graph-max-bs", "first": "0.4.6.post5", "last": "0.5.19", "gone_in": "0.5.20",
             "renamed": "--cuda-graph-max-bs-decode"},
        ),
        ("--attn_dp_size 2", None, {"spelled": "--attn-dp-size", "first": "0.5.22", "last": "0.5.23"}),
        ("--num-prompts 8", "0.5.23", {"program": "sglang.bench_serving"}),
    ],
)  # fmt: skip
def test_an_unknown_flag_is_told_from_the_facts(flags: str, release: str | None, facts: dict[str, str]):
    word = flags.split(maxsplit=1)[0]

    assert about(flags, release) == [{"word": word, **facts}]


def test_each_unknown_flag_has_facts_of_its_own():
    assert about("--tp_size 2 --qqqq --mem-fracton-static 0.8") == [
        {"word": "--tp_size", "spelled": "--tp-size"},
        {"word": "--qqqq"},
        {"word": "--mem-fracton-static", "nearest": "--mem-fraction-static"},
    ]


def test_flags_that_are_about_as_near_are_alternatives():
    assert [facts["nearest"] for facts in about("--zp-size 2")] == ["--dp-size", "--ep-size", "--pp-size"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((*BENCH, "--tp-size", "2", "--num-promts", "8"), "unrecognized arguments: …"),
        ((), "bench_serving.py: error: unrecognized arguments: …"),
    ],
)
def test_the_benchmark_is_answered_from_its_own_flags(command: tuple[str, ...], message: str):
    found = told("unknown flags", message, "0.5.23", command, flags="--tp-size 2 --num-promts 8")

    assert found == [
        {"word": "--tp-size", "program": "sglang.launch_server"},
        {"word": "--num-promts", "nearest": "--num-prompts"},
    ]


def test_the_router_is_not_answered_from_the_flags_of_the_server():
    found = told("unknown flags", "launch_router.py: error: …", "0.5.23", flags="--tp-size 2 --tp-sise 2")

    assert found == [{"word": "--tp-size", "program": "sglang.launch_server"}, {"word": "--tp-sise"}]


@pytest.mark.parametrize(
    ("typed", "left_over", "facts"),
    [
        (("--trust-remote-code", "true"), "true", {"switch": "--trust-remote-code", "turned": "on"}),
        (("--trust-remote-code", "off"), "off", {"switch": "--trust-remote-code", "turned": "off"}),
        (("--trust-remote-code", "x"), "x", {"switch": "--trust-remote-code", "turned": "neither"}),
        (
            ("--json-model-override-args", "{rope:", "1}"), "1}",
            {"torn": "--json-model-override-args", "whole": '{"rope": 1}'},
        ),
        (("--model-path", "/my", "models"), "models", {"torn": "--model-path", "whole": "'/my models'"}),
    ],
)  # fmt: skip
def test_a_stray_word_is_told_by_the_flag_before_it(typed: tuple[str, ...], left_over: str, facts: dict[str, str]):
    assert about(left_over, command=(*SERVER, *typed)) == [{"word": left_over, **facts}]


def test_a_short_flag_has_its_candidates_and_a_removed_one_its_successor():
    short = told("ambiguous flag", release="0.5.23", flag="--speculative-num", candidates="--a, --b")
    removed = told("ambiguous flag", release="0.5.23", flag="--cuda-graph-max-bs", candidates="--a, --b")

    assert [facts["candidate"] for facts in short] == ["--a", "--b"]
    assert [facts["renamed"] for facts in removed] == ["--cuda-graph-max-bs-decode"]


@pytest.mark.parametrize(
    ("typed", "facts"),
    [
        (("--model_path", "m"), {"word": "--model_path", "spelled": "--model-path"}),
        (("--model-pth", "m"), {"word": "--model-pth", "nearest": "--model-path"}),
        (("a/b", "--port", "1"), {"positional": "a/b"}),
        (("--port", "1"), {}),
    ],
)
def test_a_missing_flag_is_looked_for_in_the_command(typed: tuple[str, ...], facts: dict[str, str]):
    message = "the following arguments are required: --model-path/--model"

    assert told("missing flag", message, command=(*SERVER, *typed)) == [facts]


@pytest.mark.parametrize(
    ("given", "release", "facts"),
    [
        ("Triton", "0.5.23", {"spelled": "triton"}),
        ("tritn", "0.5.23", {"nearest": "triton"}),
        ("cutlass_mla", "0.5.23", {"removed_in": "0.5.20", "last": "0.5.19"}),
        ("llada2_cfg_flashinfer", "0.5.19", {"new_in": "0.5.22"}),
        ("cutlass_mla", None, {"first": "0.4.6.post5", "last": "0.5.19"}),
        ("qqqq", "0.5.23", {}),
    ],
)
def test_a_choice_is_told_from_the_list_and_the_facts(given: str, release: str | None, facts: dict[str, str]):
    captures = {"flag": "--attention-backend", "given": f"'{given}'", "choices": "'triton', 'fa3'"}

    assert told("choice", release=release, **captures) == [{"option": "--attention-backend", "value": given, **facts}]


def test_a_value_is_told_by_the_spelling_that_was_typed():
    found = told(
        "value", "argument --a/--tp-size: invalid int value: '8k'", command=(*SERVER, "--tp-size=8k"),
        flag="--a/--tp-size", given="8k",
    )  # fmt: skip

    assert found == [{"option": "--tp-size", "number": "8192"}]


def test_a_word_with_a_dash_is_told_as_the_missing_value():
    command = (*SERVER, "--chat-template", "-x")

    assert told("no value", command=command, flag="--chat-template") == [{"option": "--chat-template", "dashed": "-x"}]


def test_the_release_at_hand_is_a_fact():
    found = facts_about("no value", Rejection({"flag": "--x"}, "", Context(release="0.5.19")))

    assert found == ({"installed": "0.5.19", "newest": known_releases()[-1], "option": "--x"},)


def test_only_facts_that_are_listed_are_told_and_only_kinds_that_are_listed_are_asked_for():
    kinds = {entry.facts for entry in read_entries(ENTRIES) if entry.facts}

    assert kinds <= FACTS.keys()
    assert {*about("--tp_size 2 --num-prompts --torchao-config x")[0]} <= FACTS["unknown flags"]


def with_typo(name: str, chance: random.Random) -> str:
    """A flag with one letter dropped, doubled by another, replaced, or exchanged with its neighbour."""
    at = chance.randrange(3, len(name))
    letter = chance.choice(string.ascii_lowercase)
    return chance.choice(
        [
            name[: at - 1] + name[at:],
            name[:at] + letter + name[at:],
            name[: at - 1] + letter + name[at:],
            name[: at - 2] + name[at - 1] + name[at - 2] + name[at:] if at > 3 else name + letter,
        ]
    )


@pytest.mark.parametrize("release", [None, "0.4.8", "0.5.10", "0.5.19", "0.5.23"])
def test_a_flag_with_one_typo_is_named_first_and_nothing_is_suggested_that_the_release_lacks(release: str | None):
    chance = random.Random(SEED)
    typed = {with_typo(flag.name, chance): flag for flag in dict.fromkeys(known_flags().values())}
    answers = {word: about(word, release) for word in typed if word not in known_flags()}

    named = [typed[word] is flag_named(facts[0]) for word, facts in answers.items()]
    suggested = {name for facts in answers.values() for each in facts for name in suggestions(each)}

    assert sum(named) / len(named) >= 0.95
    assert {name for name in suggested if not known_flags()[name].has(name, release)} == set()


def flag_named(facts: dict[str, str]) -> Flag | None:
    name = facts.get("spelled") or facts.get("nearest") or facts.get("meant")
    return known_flags().get(name or "")


def suggestions(facts: dict[str, str]) -> list[str]:
    """The flags that are to be written instead."""
    words = [facts.get("spelled"), facts.get("nearest"), *facts.get("renamed", "").split()]
    return [word.partition("=")[0] for word in words if word]
