"""The command's output passes unchanged and at once, whatever it is and wherever it goes."""

import os
import sys

import pytest

PY = sys.executable


def test_bytes_pass_unchanged(run_piped):
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 20000)"

    assert run_piped([PY, "-c", script]).stdout == bytes(range(256)) * 20_000


def test_output_and_errors_stay_apart(run_piped):
    done = run_piped(["sh", "-c", "echo out; echo err >&2; echo out"])

    assert (done.stdout, done.stderr) == (b"out\nout\n", b"err\n")


def test_output_and_errors_that_go_to_one_file_keep_their_order(run_piped, tmp_path):
    with (tmp_path / "both").open("wb") as both:
        run_piped(["sh", "-c", "for i in $(seq 500); do echo out $i; echo err $i >&2; done"], stdout=both, stderr=both)
    expected = "".join(f"out {number}\nerr {number}\n" for number in range(1, 501))

    assert (tmp_path / "both").read_text() == expected


def test_a_line_that_is_not_finished_is_seen_at_once(running):
    script = "import sys; sys.stdout.write('45 %\\r'); sys.stdout.flush(); sys.stdin.read()"
    process = running([PY, "-c", script], stdin=-1)

    assert os.read(process.stdout.fileno(), 100) == b"45 %\r"


def test_what_goes_in_reaches_the_command(run_piped):
    assert run_piped(["cat"], given=b"\x00\xff\r\n" * 1000).stdout == b"\x00\xff\r\n" * 1000


def test_arguments_pass_as_they_are(run_piped):
    words = ["--json", "--", "a b", "*", "$HOME", ""]

    assert run_piped([PY, "-c", "import sys; print(sys.argv[1:])", *words]).stdout.decode() == f"{words}\n"


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143), ("kill -6 $$", 134)]
)
def test_the_exit_status_is_the_commands(run_piped, script, status):
    assert run_piped(["sh", "-c", script]).returncode == status


def test_a_command_that_is_not_there_ends_as_in_a_shell(run_piped, tmp_path):
    (tmp_path / "text").write_text("no program")

    assert run_piped(["no-such-program"]).returncode == 127
    assert run_piped([str(tmp_path / "text")]).returncode == 126


def test_a_reader_that_leaves_ends_the_command(running):
    process = running(["yes"])
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    process.stdout = None

    assert process.wait(timeout=120) == 128 + 13


def test_output_that_nobody_reads_yet_does_not_hold_up_the_errors(running):
    process = running(["sh", "-c", "yes | head -c 4000000 & echo error >&2; wait"])

    assert process.stderr.readline() == b"error\n"
    assert len(process.communicate(timeout=120)[0]) == 4_000_000


def test_what_outlives_the_command_does_not_hold_it_up_and_is_still_heard(running, tmp_path):
    os.mkfifo(tmp_path / "later")
    process = running(["sh", "-c", f"(read line < {tmp_path}/later; echo late) & echo early"])

    assert process.wait(timeout=120) == 0
    (tmp_path / "later").write_text("go\n")
    assert process.stdout.read() == b"early\nlate\n"


def test_descriptors_that_were_handed_down_reach_the_command(run_piped):
    reading, writing = os.pipe()
    run_piped([PY, "-c", f"import os; os.write({writing}, b'through')"], pass_fds=[writing])
    os.close(writing)

    assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_more_output_than_can_be_looked_at_arrives_whole(running):
    process = running(["sh", "-c", "yes 'ERROR: cannot read file' | head -c 150000000"])
    size = 0
    while data := process.stdout.read(1 << 20):
        size += len(data)

    assert size == 150_000_000
    assert process.wait(timeout=120) == 0
