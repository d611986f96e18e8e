"""What ``scan`` prints for programs: JSON Lines, SARIF, GitHub annotations."""

import json
import re
from pathlib import Path

import pytest
from sarif_pydantic import Sarif

from sgl_explain import __version__
from sgl_explain.cli import main
from sgl_explain.diagnosis import scan
from sgl_explain.render.github import annotation
from sgl_explain.render.sarif import document

NO_VLLM = """\
[2025-08-08 09:09:1{rank} TP{rank}] Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 5584, in run_scheduler_process
    scheduler = Scheduler(
ModuleNotFoundError: No module named 'vllm'

"""
REQUEST = "[2025-08-08 09:09:00] ValueError: top_p must be in (0, 1], got 3.0.\n"
HARMLESS = "[2025-08-08 09:09:00 TP0] Ignore import error when loading sglang.srt.models.x: No module named 'y'\n"
SIGQUIT = "[2025-08-08 09:09:11] Received sigquit from a child process. It usually means the child failed.\n"
STORM = HARMLESS + REQUEST + NO_VLLM.format(rank=1) + NO_VLLM.format(rank=0) + SIGQUIT


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a log, 100%.txt"
    path.write_text(STORM)
    return path


def test_json_tells_which_part_each_failure_plays(log, capsys):
    assert main(["scan", "--format", "json", str(log)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [(record["role"], record.get("rank")) for record in records] == [
        ("harmless", "TP0"),
        ("cause", None),
        # what ended a process takes the place of what a request met
        ("cause", "TP1"),
        ("repeat", "TP0"),
        ("consequence", None),
    ]
    assert {record["schema"] for record in records} == {1}


def sarif(capsys: pytest.CaptureFixture[str], *files: Path) -> dict:
    assert main(["scan", "--format", "sarif", *map(str, files)]) == 0
    return json.loads(capsys.readouterr().out)


def test_sarif_has_each_distinct_failure_once_with_its_count(log, capsys):
    (run,) = sarif(capsys, log)["runs"]

    assert [(result["ruleId"], result["level"], result["occurrenceCount"]) for result in run["results"]] == [
        ("request-sampling-value-out-of-range", "error", 1),
        ("cpu-engine-off-vllm-missing", "error", 2),
        ("child-process-failed-sigquit", "note", 1),
        ("model-file-import-ignored", "note", 1),
    ]


def test_sarif_has_what_the_standard_requires(log, tmp_path, monkeypatch, capsys):
    """Sections 3.13 to 3.30 of SARIF 2.1.0: required properties, and what they refer to."""
    (tmp_path / "b.log").write_text(SIGQUIT)
    monkeypatch.chdir(tmp_path)
    found = sarif(capsys, Path(log.name), tmp_path / "b.log")

    assert Sarif.model_validate(found).model_dump(mode="json", by_alias=True, exclude_unset=True) == found
    assert (found["version"], found["$schema"][-22:]) == ("2.1.0", "sarif-schema-2.1.0.json"[-22:])
    (run,) = found["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("sgl-explain", __version__)
    assert [rule["id"] for rule in driver["rules"]] == sorted({rule["id"] for rule in driver["rules"]})
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (place,) = (location["physicalLocation"] for location in result["locations"])
        assert place["region"]["startLine"] >= 1
        assert re.fullmatch(r"[\w%./:-]+", place["artifactLocation"]["uri"])
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert uris == {"a%20log%2C%20100%25.txt", (tmp_path / "b.log").as_uri()}


def test_sarif_of_a_quiet_log_is_a_document_without_results(tmp_path, capsys):
    quiet = tmp_path / "quiet.log"
    quiet.write_text("[2025-08-08 09:09:09] The server is fired up and ready to roll!\n")

    assert main(["scan", "--format", "sarif", str(quiet)]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []


def test_sarif_takes_what_no_file_name_tells():
    (page,) = scan([SIGQUIT])

    result = json.loads(document([(page, "note", 1, "")], "1"))["runs"][0]["results"][0]

    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "stdin"


def test_annotations_are_one_line_each_and_escaped(log, monkeypatch, capsys):
    monkeypatch.chdir(log.parent)

    assert main(["scan", "--format", "github", log.name]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert [line.partition(" ")[0] for line in lines] == ["::notice", "::error", "::error", "::notice"]
    assert lines[2].startswith("::error file=a log%2C 100%25.txt,line=3,title=No module named 'vllm'%2C which")
    assert "%0A  More: sgl-explain show cpu-engine-off-vllm-missing" in lines[2]


def test_an_annotation_of_standard_input_names_no_file():
    (page,) = scan([SIGQUIT])

    assert annotation(page, "error").startswith("::error title=The server ends because")


def test_json_is_the_short_form_of_the_format(log, capsys):
    main(["scan", "--json", str(log)])
    short = capsys.readouterr().out
    main(["scan", "--format", "json", str(log)])

    assert capsys.readouterr().out == short
