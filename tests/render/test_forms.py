"""Every form of one explanation against a file that was looked at; UPDATE_GOLDEN=1 writes them anew."""

import json
import os
from io import StringIO
from pathlib import Path

import pytest

from sgl_explain.entry import Example, Prevention
from sgl_explain.explanation import Cause, Explanation, Nearest
from sgl_explain.fixing import Fix
from sgl_explain.render.choose import print_explanation, wants_colour
from sgl_explain.render.notes import is_note, note
from sgl_explain.render.page import full_html, short_html
from sgl_explain.render.plain import full_text, short_text
from sgl_explain.render.record import json_line
from sgl_explain.render.terminal import coloured

GOLDEN = Path(__file__).resolve().parent / "golden"

PAGE = Explanation(
    id="pool-too-small",
    title="The pool is too small for one page",
    confidence="exact",
    exception="RuntimeError",
    message="Not enough room. Current value: fraction=0.5",
    captures={"fraction": "0.5"},
    meaning="The weights are loaded, and what the fraction 0.5 still allows holds no page of cache. " * 2
    + "\n\nA second paragraph.",
    causes=(
        Cause("nvidia-smi shows another process.", "It holds the memory."),
        Cause("Neither.", "The weights leave little."),
    ),
    fixes=(
        Fix("Raise the fraction.", "safe", set={"--mem-fraction-static": "0.9"}),
        Fix(
            "Or spread the weights.",
            "unsafe",
            condition="sglang >=0.5.16",
            set={"--tp-size": "2"},
            remove=("--dp-size",),
            env={"NCCL_DEBUG": "INFO", "HTTP_PROXY": ""},
            run="nvidia-smi",
            code="print('x')",
            command="python -m sglang.launch_server --tp-size 2",
        ),
    ),
    trigger="The pool rounds down to nothing.",
    situations=("The fraction was lowered.", "A second model was loaded."),
    example=Example("python -m sglang.launch_server", "python -m sglang.launch_server --mem-fraction-static 0.9"),
    prevention=Prevention(("Know which wall you are at.",), validate="assert fraction > 0.5"),
    related=("out-of-memory",),
    upstream=("sglang.srt.pool:check",),
    versions=">=0.5.10",
    seen=("sgl-project/sglang#322", "sgl-project/sglang#4330"),
    reasons=("its text is this template",),
    rank="TP0",
    line=12,
)
ALIKE = Explanation(
    None, "No entry accounts for this error", "similar", "", "something", nearest=(Nearest("a-b", "A is not B", 71),)
)
HOSTILE = "\x1b[31mred\x1b[0m [bold]markup[/bold] <script>alert(1)</script> \u202e {brace}"
HOSTILE_FIX = Fix(HOSTILE, "safe", run=HOSTILE)
EVIL = Explanation("evil", HOSTILE, "probable", "E", HOSTILE, meaning=HOSTILE, fixes=(HOSTILE_FIX,))


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


class Terminal(StringIO):
    def isatty(self):
        return True


FORMS = {
    "short.txt": lambda: short_text(PAGE),
    "full.txt": lambda: full_text(PAGE),
    "alike.txt": lambda: short_text(ALIKE),
    "short.ansi": lambda: coloured(PAGE, Terminal()),
    "full.ansi": lambda: coloured(PAGE, Terminal(), full=True).replace("\x1b]8;id=", "\x1b]8;id="),
    "short.html": lambda: short_html(PAGE),
    "full.html": lambda: full_html(PAGE),
    "record.json": lambda: json_line(PAGE),
}


@pytest.mark.parametrize("name", [name for name in FORMS if name != "full.ansi"])
def test_the_form_is_the_one_that_was_looked_at(name):
    text = FORMS[name]() + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(text, encoding="utf-8")

    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def test_reports_are_links_on_a_terminal():
    assert "https://github.com/sgl-project/sglang/issues/322" in FORMS["full.ansi"]()


def test_escapes_in_messages_are_shown_not_obeyed():
    for text in (short_text(EVIL), full_text(EVIL)):
        assert "\x1b" not in text
        assert "\\x1b[31mred" in text


def test_a_terminal_gets_no_escapes_but_our_own():
    text = coloured(EVIL, Terminal())

    assert "\x1b[31mred" not in text
    assert "[bold]markup[/bold]" in text


def test_html_is_escaped():
    for html in (short_html(EVIL), full_html(EVIL)):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html


def test_the_record_is_one_line_with_a_schema():
    line = json_line(EVIL)

    assert "\n" not in line
    assert json.loads(line)["schema"] == 1


def test_a_note_is_recognised():
    assert is_note(note(PAGE))
    assert not is_note("some other note")


@pytest.mark.parametrize(
    ("stream", "env", "expected"),
    [
        (Terminal(), {}, True),
        (StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (StringIO(), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_goes_where_it_is_wanted(stream, env, expected, monkeypatch):
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    assert wants_colour(stream) is expected


class NothingButWrite:
    def __init__(self):
        self.written = ""

    def write(self, text):
        self.written += text

    def flush(self):
        pass


def test_a_stream_without_isatty_gets_plain_text():
    stream = NothingButWrite()
    print_explanation(PAGE, stream)

    assert stream.written == short_text(PAGE) + "\n"


def test_a_pipe_gets_plain_text():
    stream = StringIO()
    print_explanation(PAGE, stream)

    assert stream.getvalue() == short_text(PAGE) + "\n"


def test_a_narrow_terminal_is_filled_not_overrun(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("COLUMNS", "50")
    text = coloured(EVIL, Terminal())

    assert text
