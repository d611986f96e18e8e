"""What a log's failures come to: each once, the first one named as the cause, the rest counted."""

import io

import pytest

from sgl_explain.cli.story import Story
from sgl_explain.diagnosis import scan

TRACEBACK = """\
[2025-08-08 09:09:{second:02} TP{rank}] Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 5584, in run_scheduler_process
    scheduler = Scheduler(
{error}

"""
NO_VLLM = "ModuleNotFoundError: No module named 'vllm'"
STRANGE = "ValueError: the kettle has boiled dry"
SIGQUIT = "[2025-08-08 09:09:11] Received sigquit from a child process. It usually means the child failed.\n"
DIED = "[2025-08-08 09:09:11] RuntimeError: Rank 0 scheduler died during initialization (exit code: {code})\n"


def failing(rank: int, error: str) -> str:
    return TRACEBACK.format(second=rank, rank=rank, error=error)


def story(log: str) -> str:
    out = io.StringIO()
    told = Story(out)
    for explanation in scan(log.splitlines(), unexplained=True):
        told.add(explanation)
    told.sum_up()
    return out.getvalue()


def words_of(log: str) -> str:
    return " ".join(story(log).split())


def test_a_single_failure_needs_no_summary() -> None:
    assert story(failing(3, NO_VLLM)).rstrip().endswith("More: sgl-explain show cpu-engine-off-vllm-missing")


def test_eight_ranks_that_fail_alike_are_one_failure_of_the_first() -> None:
    text = story("".join(failing(rank, NO_VLLM) for rank in (3, 0, 1, 2, 4, 5, 6, 7)) + SIGQUIT * 3)

    assert text.count("sgl_explain: ") == 1
    words = " ".join(text.split())
    assert "Root cause: No module named 'vllm', which SGLang should not need" in words
    assert "(cpu-engine-off-vllm-missing) in line 1 on TP3." in words
    assert "The same on 8 ranks, first on TP3, TP0, TP1" in words
    assert "7 more of the same" in words
    assert "Consequences, not causes (3): The server ends because one of its child processes failed (line" in words


def test_a_report_alone_is_told_in_full() -> None:
    assert "sgl-explain show child-process-failed-sigquit" in story(SIGQUIT)


@pytest.mark.parametrize("others", ["", failing(1, STRANGE)])
def test_an_error_without_an_entry_is_pointed_at_where_only_reports_are_known(others: str) -> None:
    words = words_of("[2025-08-08 09:09:00] hello\n" + failing(0, STRANGE) + others + SIGQUIT)

    assert words.count("No entry accounts for") == 1
    assert f"No entry accounts for what stands in line 2 on TP0: {STRANGE}" in words


def test_an_error_without_an_entry_that_came_after_the_cause_is_not_mentioned() -> None:
    assert "No entry accounts for" not in words_of(failing(0, NO_VLLM) + failing(1, STRANGE) + SIGQUIT)


def test_an_exit_code_behind_a_traceback_is_a_consequence() -> None:
    words = words_of(failing(0, NO_VLLM) + DIED.format(code=1))

    assert words.count("sgl_explain: ") == 1
    assert "Consequences, not causes (1): A scheduler process ended before the model was loaded" in words


def test_an_exit_code_alone_is_the_failure() -> None:
    text = story(DIED.format(code=-9) + SIGQUIT)

    assert "out-of-memory killer" in text
    assert "Root cause: A scheduler process ended before the model was loaded" in " ".join(text.split())


def test_what_ended_a_process_is_the_cause_rather_than_what_a_request_met_before() -> None:
    request = "[2025-08-08 09:00:00] ValueError: top_p must be in (0, 1], got 3.0.\n"

    assert "Root cause: No module named 'vllm'" in words_of(request + failing(0, NO_VLLM))


def test_nothing_is_said_of_a_log_without_failures() -> None:
    assert story("[2025-08-08 09:09:09] The server is fired up and ready to roll!\n") == ""


def test_ranks_that_fail_with_numbers_of_their_own_fail_alike() -> None:
    def error(rank: int, free: float) -> str:
        told = f"Tried to allocate {free:.2f} GiB. GPU {rank} has a total capacity of 79.11 GiB of which 1.02 GiB is"
        return failing(rank, f"torch.OutOfMemoryError: CUDA out of memory. {told} free.")

    ranks = "".join(error(rank, 2.32 + rank / 100) for rank in range(4))
    words = words_of(ranks)
    restarted = words_of(ranks + error(0, 9.0))

    assert (words.count("sgl_explain: "), "The same on 4 ranks" in words) == (1, True)
    assert (restarted.count("sgl_explain: "), "Other failures: " in restarted) == (2, True)
