"""The bundled facts about server flags are found by every spelling."""

import json
from pathlib import Path

import pytest

from sgl_explain.flags import flag_called, is_before, is_negative, known_flags, known_release, known_releases
from sgl_explain.release import parse_release

DATA = Path(__file__).resolve().parent.parent / "src" / "sgl_explain" / "data"


def test_every_spelling_leads_to_the_same_flag():
    flags = known_flags()

    assert flags["--tp-size"] is flags["--tensor-parallel-size"]
    assert flags["--tp-size"].spellings == ("--tp-size", "--tensor-parallel-size")


@pytest.mark.parametrize(
    ("name", "takes"), [("--tp-size", "value"), ("--enable-lora", "nothing"), ("--lora-paths", "values")]
)
def test_a_flag_knows_what_it_takes(name: str, takes: str):
    assert known_flags()[name].takes == takes


def test_a_flag_knows_its_choices_and_the_releases_that_have_it():
    flag = known_flags()["--nsa-prefill-backend"]

    assert flag.choices is not None
    assert "flashmla_sparse" in flag.choices
    assert parse_release(flag.last) < parse_release("0.5.23")


@pytest.mark.parametrize(
    ("word", "name"),
    [("--tp", "--tp-size"), ("--dp", "--dp-size"), ("--ep", "--ep-size"), ("--model", "--model-path")],
)
def test_what_argparse_takes_for_a_flag_is_that_flag(word: str, name: str):
    assert flag_called(word) is known_flags()[name]


@pytest.mark.parametrize("word", ["--speculative", "--not-a-flag", "--", "model", ""])
def test_other_words_are_no_flag(word: str):
    assert flag_called(word) is None


@pytest.mark.parametrize(("word", "negative"), [("--no-dllm-fdfo", True), ("--dllm-fdfo", False)])
def test_a_negative_spelling_is_told_from_the_positive_one(word: str, negative: bool):
    assert is_negative(word, known_flags()[word]) is negative


def test_choices_and_spellings_are_known_by_release():
    backend, tp_size = known_flags()["--attention-backend"], known_flags()["--tp-size"]

    assert "trtllm_mla" not in backend.choices_in("0.4.9")
    assert "trtllm_mla" in backend.choices_in("0.5.23")
    assert "cutlass_mla" not in backend.choices_in("0.5.23")
    assert known_flags()["--model"].spellings_in("0.4.8") == ("--model-path",)
    assert tp_size.spellings_in("0.4.8") == ("--tp-size", "--tensor-parallel-size")


def test_what_follows_a_flag_is_known_by_release():
    flag = known_flags()["--hybrid-kvcache-ratio"]

    assert (flag.takes_in("0.5.7"), flag.takes_in("0.5.8")) == ("value", "nothing")


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("0.5.19", "0.5.19"),
        ("0.5.19.dev3", "0.5.19.dev3"),
        ("99.0", known_releases()[-1]),
        ("0.3.0", None),
        ("x", None),
    ],
)
def test_a_release_stands_for_itself_or_the_newest_and_older_ones_are_not_known(release: str, known: str | None):
    assert known_release(release) == known


def test_at_least_a_dozen_releases_were_looked_at():
    assert len(known_releases()) > 12
    assert (known_releases()[0], known_releases()[-1]) == ("0.4.6.post5", "0.5.23")
    assert list(known_releases()) == sorted(known_releases(), key=parse_release)


def test_every_successor_is_a_flag_of_a_later_release():
    for flag in set(known_flags().values()):
        for word in flag.replacement:
            successor = known_flags()[word.partition("=")[0]]
            assert not is_before(successor.last, flag.last), (flag.name, word)


def test_the_benchmark_has_flags_of_its_own():
    assert known_flags("bench_serving")["--num-prompts"].program == "bench_serving"
    assert "--num-prompts" not in known_flags()


@pytest.mark.parametrize("program", ["server", "bench_serving"])
def test_the_bundled_flags_are_sorted_and_no_spelling_belongs_to_two(program: str):
    lines = [json.loads(line) for line in (DATA / "flags.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    flags = [line for line in lines if line.get("program", "server") == program]
    spellings = [name for line in flags for name in (line["flag"], *line.get("aliases", ()))]

    assert [line["flag"] for line in flags] == sorted(line["flag"] for line in flags)
    assert len(spellings) == len(set(spellings))


def test_the_file_stays_small():
    assert (DATA / "flags.jsonl").stat().st_size < 130_000
