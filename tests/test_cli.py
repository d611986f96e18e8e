"""The command line as a person and as a program use it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sgl_explain.cli import main

DSPARK = (
    "DSpark speculative_num_draft_tokens must equal gamma + 1 (= 5 for gamma=4), "
    "but got speculative_num_draft_tokens=8."
)
DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
KEYS = (
    "schema",
    "id",
    "title",
    "confidence",
    "exception",
    "message",
    "captures",
    "meaning",
    "fixes",
    "nearest",
    "line",
)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_message_is_explained(plain, capsys):
    status = main([DSPARK])

    assert status == 0
    assert "gamma = 4" in capsys.readouterr().out


def test_an_unknown_message_is_not(plain, capsys):
    status = main(["the kettle has boiled dry over there"])

    assert status == 1
    assert "No entry accounts for this error" in capsys.readouterr().out


def test_a_likeness_is_named_as_such_and_explains_nothing(plain, capsys):
    status = main(["When setting gc_threshold, it should contain between 1 and 3 whole numbers"])
    out = capsys.readouterr().out

    assert status == 1
    assert "none of them is claimed to be the cause" in out


def test_json_has_every_promised_key(capsys):
    main(["--json", DSPARK])
    (record,) = records(capsys.readouterr().out)

    assert set(KEYS) <= record.keys()
    assert (record["id"], record["confidence"], record["captures"]) == (
        DSPARK_ID, "exact", {"expected": "5", "gamma": "4", "given": "8"},
    )  # fmt: skip


def test_json_of_an_unknown_message_has_a_null_id(capsys):
    main(["--json", "the kettle has boiled dry over there"])
    (record,) = records(capsys.readouterr().out)

    assert record["id"] is None
    assert set(KEYS) <= record.keys()


def test_show_takes_ids_and_the_hexadecimal_ones_of_old(plain, capsys):
    assert main(["show", "6fbbc2a22b7ee5a2"]) == 0
    assert DSPARK_ID in capsys.readouterr().out


def test_an_unknown_id_gets_a_suggestion(plain, capsys):
    assert main(["show", "dspark-draft-token-not-gamma-plus-1"]) == 1
    assert f"Did you mean {DSPARK_ID}" in capsys.readouterr().err


def test_search_finds_by_words(plain, capsys):
    assert main(["search", "dspark", "gamma"]) == 0
    assert DSPARK_ID in capsys.readouterr().out


def test_search_for_nothing_known_finds_nothing(plain, capsys):
    assert main(["search", "kettle"]) == 1


def test_list_names_every_entry(plain, capsys):
    import sgl_explain

    main(["list", "--json"])
    listed = [record["id"] for record in records(capsys.readouterr().out)]

    assert listed == [entry.id for entry in sgl_explain.knowledge()]


@pytest.mark.parametrize("argv", [["show"], ["scan"], ["search"], ["scan", "--jsn", "x"], ["--bogus"]])
def test_bad_usage_ends_with_two(argv, capsys):
    with pytest.raises(SystemExit) as left:
        main(argv)

    assert left.value.code == 2


def test_a_missing_file_is_named_and_the_others_are_read(plain, capsys, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n")

    status = main(["scan", str(tmp_path / "nope.log"), str(log)])
    captured = capsys.readouterr()

    assert status == 2
    assert "nope.log: No such file" in captured.err
    assert DSPARK_ID in captured.out


def test_scan_tells_the_line(capsys, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(f"[2026-11-29 17:25:29] starting\n[2026-11-29 17:25:30] ValueError: {DSPARK}\n")
    main(["scan", "--json", str(log)])
    (record,) = records(capsys.readouterr().out)

    assert (record["id"], record["line"]) == (DSPARK_ID, 2)


def run(*words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sgl_explain", *words], input=text, capture_output=True, text=True, check=False
    )


def test_a_piped_text_is_explained():
    done = run(text=f"Traceback (most recent call last):\nValueError: {DSPARK}\n")

    assert done.returncode == 0
    assert DSPARK_ID in done.stdout


def test_a_dash_reads_standard_input():
    assert run("-", text=DSPARK).returncode == 0


def test_a_reader_that_leaves_early_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m sgl_explain list | head -n 1", shell=True, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_lines_fit_eighty_columns_but_for_commands():
    done = run(DSPARK)
    text = [line for line in done.stdout.splitlines() if not line.startswith(" " * 9)]

    assert max(map(len, text)) <= 80


def test_the_sample_log_of_the_readme_is_explained():
    log = Path(__file__).resolve().parent.parent / "examples" / "missing-module.log"
    done = run("scan", str(log))

    assert done.returncode == 0
    assert "vllm" in done.stdout
