"""The command line as a person and as a program use it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("argv", [["show"], ["scan"], ["search"], ["scan", "--jsn", "x"], ["list", "x"]])
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


def shell(line: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a line of bash, in which ``explain`` is the command line and ``$MESSAGE`` a message with an entry."""
    function = f'explain() {{ {shlex.quote(sys.executable)} -m sgl_explain "$@"; }}; set -o pipefail; '
    # buffered, as it is for users; unbuffered output fails earlier and hides what the end of the program does
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "FORCE_COLOR")}
    env = {**kept, "MESSAGE": DSPARK, **variables}
    return subprocess.run(["bash", "-c", function + line], env=env, capture_output=True, check=False, timeout=60)


def complaint(done: "subprocess.CompletedProcess[bytes]") -> tuple[int, str]:
    """The exit status and the last line on standard error."""
    return done.returncode, (done.stderr.decode().splitlines() or [""])[-1]


GIVE_SOMETHING = "sgl-explain: give a message, a command, or pipe a text in"
NO_STDIN = "sgl-explain: standard input: it is closed"
NO_STDOUT = "sgl-explain: cannot write: standard output is closed"
NO_SPACE = "sgl-explain: cannot write: No space left on device"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("explain <&-", GIVE_SOMETHING),
        ("explain - <&-", NO_STDIN),
        ("explain scan - <&-", NO_STDIN),
        ('explain "$MESSAGE" >&-', NO_STDOUT),
        ('explain --json "$MESSAGE" >&-', NO_STDOUT),
        ("explain list >&-", NO_STDOUT),
        ('explain "$MESSAGE" >/dev/full', NO_SPACE),
        ("explain list >/dev/full", NO_SPACE),
        ('explain scan - <<<"ValueError: $MESSAGE" >/dev/full', NO_SPACE),
        ("explain --help >/dev/full", NO_SPACE),
    ],
)
def test_a_stream_that_cannot_be_used_is_named_in_one_line(line, expected):
    done = shell(line)

    assert complaint(done) == (2, expected)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_complaints_do_not_go_to_standard_output_where_standard_error_is_closed():
    done = shell("explain scan 2>&-")

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "cp1252", "utf-8"])
def test_no_encoding_of_the_streams_is_in_the_way(encoding, tmp_path):
    log = tmp_path / "caf\u00e9 \u2192 \U0001f600.log"
    log.write_text(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n")
    done = shell(f"explain scan '{log}' '{log}'", PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (0, b"")
    assert DSPARK_ID.encode() in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-8:surrogateescape"])
@pytest.mark.parametrize(
    "line",
    [
        r"explain --json $'\xff caf\u00e9 is no known error'",
        r"printf '\xff caf\xc3\xa9 is no known error' | explain --json",
        """explain --json '{"error": {"message": "\\ud800 caf\u00e9"}}'""",
    ],
)
def test_json_is_valid_whatever_goes_in_and_whatever_the_encoding(line, encoding):
    done = shell(line, PYTHONIOENCODING=encoding)

    assert "caf\u00e9" in json.loads(done.stdout.decode("utf-8"))["message"]


def test_a_file_name_that_is_no_utf_8_leaves_json_valid(tmp_path):
    log = os.fsencode(tmp_path) + b"/b\xff.log"
    Path(os.fsdecode(log)).write_text(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n")
    done = subprocess.run(
        [sys.executable, "-m", "sgl_explain", "scan", "--json", log, log], capture_output=True, check=False
    )

    assert [record["file"][-6:] for record in records(done.stdout.decode("utf-8"))] == ["b\ufffd.log"] * 2


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii:strict"}])
def test_scanned_standard_input_is_utf_8_with_bad_bytes_replaced(locale):
    done = shell(
        r"""printf '\xff caf\xc3\xa9\n[2026-11-29 17:25:30] ValueError: %s\n' "$MESSAGE" | explain scan --json -""",
        **locale,
    )

    assert [(record["id"], record["line"]) for record in records(done.stdout.decode())] == [(DSPARK_ID, 2)]


def test_scanned_standard_input_is_explained_as_it_comes():
    scanning = subprocess.Popen(
        [sys.executable, "-m", "sgl_explain", "scan", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with scanning:
        scanning.stdin.write(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n".encode() * 2)
        scanning.stdin.flush()
        first = json.loads(scanning.stdout.readline())
        scanning.stdin.close()

    assert first["id"] == DSPARK_ID


def test_a_reader_that_leaves_a_scan_early_is_no_error(tmp_path):
    log = tmp_path / "big.log"
    log.write_text(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n" * 2000)
    done = shell(f"explain scan --json {log} | head -n 1")

    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, b"", 1)


def test_control_c_ends_quietly():
    scanning = subprocess.Popen(
        [sys.executable, "-m", "sgl_explain", "scan", "--json", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # a shell starts what it runs in the background with SIGINT ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )  # fmt: skip
    # what it says of the first failure shows that it is past its imports
    scanning.stdin.write(f"[2026-11-29 17:25:30] ValueError: {DSPARK}\n".encode() * 2)
    scanning.stdin.flush()
    scanning.stdout.readline()
    time.sleep(0.2)
    scanning.send_signal(signal.SIGINT)
    _, complaints = scanning.communicate(timeout=30)

    assert (scanning.returncode, complaints) == (130, b"")


@pytest.mark.parametrize("name", ["nope.log", "."])
def test_a_file_that_cannot_be_read_is_named_once(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["scan", name, name]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "scan failed"], "scan failed"),
        (["--", "scan", "failed"], "scan failed"),
        (["--", "--json", "is", "bad"], "--json is bad"),
        (["--foo", "is", "no", "longer", "supported"], "--foo is no longer supported"),
        (["--foo is no longer supported"], "--foo is no longer supported"),
        (["-h is no flag"], "-h is no flag"),
        (["error:", "unrecognized", "arguments:", "--foo"], "error: unrecognized arguments: --foo"),
        (["unknown", "words", "--json", "--version", "-h"], "unknown words --json --version -h"),
    ],
)
def test_a_message_may_look_like_options_and_commands(words, message, capsys):
    main(["--json", *words])
    (record,) = records(capsys.readouterr().out)

    assert record["message"].endswith(message)


def test_a_message_after_two_dashes_is_explained(plain, capsys):
    assert main(["--", DSPARK]) == 0
    assert DSPARK_ID in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--json", "list"], ["list", "--json"]])
def test_json_may_stand_before_and_after_a_command(words, capsys):
    main(words)

    assert records(capsys.readouterr().out)


@pytest.mark.parametrize(("option", "start"), [("--help", "usage: "), ("-h", "usage: "), ("--version", "sgl-explain ")])
def test_options_that_only_tell_something_end_with_zero(option, start, capsys):
    with pytest.raises(SystemExit) as left:
        main([option])

    assert (left.value.code, capsys.readouterr().out[: len(start)]) == (0, start)


def test_the_help_names_an_entry_that_exists(plain, capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    (entry_id,) = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if "sgl-explain show" in line]

    assert main(["show", entry_id]) == 0


@pytest.mark.parametrize("words", [["--json", DSPARK], [DSPARK, "--json"]])
def test_json_may_stand_before_or_after_a_message(words, capsys):
    main(words)

    assert records(capsys.readouterr().out)[0]["id"] == DSPARK_ID
