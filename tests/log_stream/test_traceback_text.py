"""Single lines of printed tracebacks."""

import pytest

from sgl_explain.evidence import Frame
from sgl_explain.log_stream.traceback_text import (
    exception_in,
    frame_in,
    is_call,
    is_marker,
    module_of,
    words_before_header,
)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("/usr/lib/python3.11/site-packages/sglang/srt/server_args.py", "sglang.srt.server_args"),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", "torch.nn.modules.module"),
        ("/sgl-workspace/sglang/python/sglang/srt/x.py", "sglang.srt.x"),
        ("/srv/releases/0.5.19/sglang/srt/layers/triton/x.py", "sglang.srt.layers.triton.x"),
        ("/usr/lib/python3.11/multiprocessing/process.py", "multiprocessing.process"),
        ("/usr/lib/python3.11/site-packages/sglang/__init__.py", "sglang"),
        ("/usr/lib/python3.11/site-packages/trt/python/x.py", "trt.python.x"),
        (r"C:\env\Lib\site-packages\sglang\srt\x.py", "sglang.srt.x"),
        ("/home/me/run.py", "run"),
        ("<frozen runpy>", "runpy"),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
        ("<string>", "__main__"),
        ("", ""),
    ],
)
def test_a_path_tells_the_module(path: str, module: str) -> None:
    assert module_of(path) == module


def test_a_call_gives_its_function_without_the_class() -> None:
    assert frame_in('  File "/x/sglang/srt/a.py", line 12, in Scheduler.run') == Frame("sglang.srt.a", "run")
    assert frame_in('  File "/x/sglang/srt/a.py", line 12, in <module>') == Frame("sglang.srt.a", "<module>")


def test_faulthandler_writes_no_comma() -> None:
    assert frame_in('  File "/x/sglang/srt/a.py", line 351 in f') == Frame("sglang.srt.a", "f")


def test_the_place_of_a_syntax_error_is_a_call_line_but_no_frame() -> None:
    line = '  File "/x/a.py", line 1'

    assert is_call(line)
    assert frame_in(line) is None


@pytest.mark.parametrize(
    "line", ["    ^^^^", "    ~~~^^^~~", "  [Previous line repeated 995 more times]", "  [... skipped]"]
)
def test_marks_are_no_source_lines(line: str) -> None:
    assert is_marker(line)


@pytest.mark.parametrize(
    ("line", "types", "message"),
    [
        ("ValueError: no: really", ("ValueError",), "no: really"),
        ("AssertionError", ("AssertionError",), ""),
        ("KeyError: ", ("KeyError", "LookupError"), ""),
        ("torch.OutOfMemoryError: x", ("torch.OutOfMemoryError",), "x"),
        ("socket.gaierror: [Errno -2] x", ("socket.gaierror",), "[Errno -2] x"),
        ("__main__.f.<locals>.OwnError: x", ("__main__.f.<locals>.OwnError",), "x"),
        ("ray.RayTaskError(OSError): x", ("ray.RayTaskError(OSError)", "ray.RayTaskError", "OSError"), "x"),
        ("KeyboardInterrupt", ("KeyboardInterrupt",), ""),
        ("Exception: x", ("Exception",), "x"),
    ],
)  # fmt: skip
def test_an_exception_line_gives_types_and_message(line: str, types: tuple[str, ...], message: str) -> None:
    assert exception_in(line, plainly_named=True) == (types, message)


@pytest.mark.parametrize(
    "line", ["INFO: x", "ERROR: x", "Killed", "Note: x", "hello there: x", "usage: x", "Loading: 1"]
)
def test_other_lines_are_no_exceptions_by_their_name(line: str) -> None:
    assert exception_in(line, plainly_named=True) is None


def test_a_class_of_any_name_may_end_a_traceback() -> None:
    assert exception_in("queue.Empty", plainly_named=False) == (("queue.Empty",), "")
    assert exception_in("queue.Empty", plainly_named=True) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Traceback (most recent call last):", ""),
        ("  Traceback (most recent call last):", "  "),
        ("Scheduler hit an exception: Traceback (most recent call last):", "Scheduler hit an exception"),
        ("  + Exception Group Traceback (most recent call last):", "  "),
    ],
)
def test_words_before_a_header_are_not_lost(line: str, words: str) -> None:
    assert words_before_header(line) == words
