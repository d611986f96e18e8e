"""Every surface of ``install()``, in real processes: explained once, after output that is unchanged to the byte."""

import pytest

DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
FAIL = (
    "from sglang.srt.arg_groups.speculative_hook import *\n"
    "from sglang.srt.arg_groups.speculative_hook import _handle_dspark\n"
)
INSTALL = "import sgl_explain; sgl_explain.install()\n"
NO_INSTALL = "import os                                 \n"  # as long a line, so that positions are the same

PROGRAMS = {
    "uncaught": "_handle_dspark()",
    "thread": "import threading; t = threading.Thread(target=_handle_dspark, name='T'); t.start(); t.join()",
    "logged as text": "log_as_text()",
    "logged after basicConfig(force=True)": "import logging; logging.basicConfig(force=True); log_as_text()",
    "logged with exc_info": (
        "import logging\ntry: _handle_dspark()\nexcept ValueError: logging.getLogger('app').exception('failed')"
    ),
    "warning": "swallow_into_a_warning()",
    "chained": "try:\n    _handle_dspark()\nexcept ValueError as e:\n    raise RuntimeError('launch failed') from e",
    "argparse": "parse(['--tp-size', 'two'])",
}
EXIT_CODES = {"uncaught": 1, "chained": 1, "argparse": 2}


def outputs(program, body, **env):
    return program(NO_INSTALL + FAIL + body, **env), program(INSTALL + FAIL + body, **env)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_explanation_follows_the_unchanged_output(program, name):
    plain, explained = outputs(program, PROGRAMS[name])

    assert explained.stderr.startswith(plain.stderr.rstrip("\n"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_explained_once(program, name):
    _, explained = outputs(program, PROGRAMS[name])

    assert explained.stderr.count("\nsgl_explain: ") + explained.stderr.startswith("sgl_explain: ") == 1


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "argparse"])
def test_it_is_explained_by_its_entry(program, name):
    _, explained = outputs(program, PROGRAMS[name])

    assert f"sgl-explain show {DSPARK_ID}" in explained.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_exit_code_is_unchanged(program, name):
    plain, explained = outputs(program, PROGRAMS[name])

    assert explained.returncode == plain.returncode == EXIT_CODES.get(name, 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_standard_output_is_untouched(program, name):
    plain, explained = outputs(program, "print('out')\n" + PROGRAMS[name])

    assert explained.stdout == plain.stdout


def test_one_exception_that_several_surfaces_see_is_explained_once(program):
    body = (
        "import logging\ntry: _handle_dspark()\nexcept ValueError as e:\n"
        "    logging.getLogger('sglang').exception('x'); raise"
    )
    _, explained = outputs(program, body)

    assert explained.stderr.count("sgl_explain: ") == 1


@pytest.mark.parametrize("variable", ["SGL_EXPLAIN", "SGLANG_EXPLAIN"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sgl_explain_0_turns_everything_off(program, name, variable):
    plain, explained = outputs(program, PROGRAMS[name], **{variable: "0"})

    assert explained.stderr == plain.stderr


BROKEN = {
    "raises": "def explained(*a): raise ZeroDivisionError",
    "raises BaseException": "def explained(*a): raise SystemExit(9)",
    "hangs": (
        "import time\ndef explained(*a): time.sleep(600)\nimport sgl_explain.integrations._guard as g; g.BUDGET_S = 0.2"
    ),
    "returns nonsense": "def explained(*a): return 42",
    "returns half an explanation": (
        "def explained(*a): return m.Explanation(None, None, None, None, None, captures=None, fixes=7)"
    ),
    "renders nonsense": (
        "import sgl_explain.render.plain as p\np.short_text = lambda *a: 1 / 0\nexplained = m.explained"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_explainer_changes_nothing(program, name, way):
    broken = f"import sgl_explain.explanation as m\n{BROKEN[way]}\nm.explained = explained\n"
    plain = program(NO_INSTALL + FAIL + PROGRAMS[name])
    explained = program(INSTALL + FAIL + broken + PROGRAMS[name])

    assert _without_line_numbers(explained.stderr) == _without_line_numbers(plain.stderr)
    assert explained.returncode == plain.returncode


def _without_line_numbers(text):
    import re

    return re.sub(r"line \d+|:\d+:", "line", text)


@pytest.mark.parametrize("way", ["KeyboardInterrupt", "SystemExit(3)"])
def test_leaving_on_purpose_is_never_explained(program, way):
    body = f"try:\n    _handle_dspark()\nexcept ValueError:\n    raise {way}"
    plain, explained = outputs(program, body)

    assert explained.stderr == plain.stderr
    assert explained.returncode == plain.returncode


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyError('lm_head.weight')",
        (
            "class OutOfMemoryError(RuntimeError): pass\nOutOfMemoryError.__module__ = 'torch'\n"
            "raise OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB. "
            "GPU 0 has a total capacity of 79.10 GiB')"
        ),
        "import argparse; p = argparse.ArgumentParser(); p.add_argument('--n', type=int); p.parse_args(['--n', 'x'])",
        "import logging; logging.error('No module named vllm')",
    ],
)
def test_errors_of_programs_without_sglang_are_left_alone(program, body):
    plain, explained = program(NO_INSTALL + body), program(INSTALL + body)

    assert explained.stderr == plain.stderr


UNINSTALL = "sgl_explain.uninstall()\n"


def test_uninstall_restores_what_was_there(program):
    body = (
        "import sys, threading, logging, warnings, argparse\n"
        # install() imports it there, and it has a hook of its own, which stays
        "if sys.version_info < (3, 11): import exceptiongroup\n"
        "before = (sys.excepthook, threading.excepthook, logging.Logger.callHandlers, warnings.showwarning, "
        "argparse.ArgumentParser.error)\n"
        "import sgl_explain; undo = sgl_explain.install(); assert sys.excepthook is not before[0]; undo()\n"
        "after = (sys.excepthook, threading.excepthook, logging.Logger.callHandlers, warnings.showwarning, "
        "argparse.ArgumentParser.error)\n"
        "print(all(a is b for a, b in zip(before, after)))"
    )

    assert program(body).stdout == "True\n"


def test_a_hook_installed_after_ours_survives_uninstall(program):
    body = (
        INSTALL + FAIL + "import sys\nprevious = sys.excepthook\n"
        "def theirs(*a):\n    print('theirs', file=sys.stderr); previous(*a)\nsys.excepthook = theirs\n"
        + UNINSTALL
        + "assert sys.excepthook is theirs\n_handle_dspark()"
    )
    done = program(body)

    assert done.stderr.startswith("theirs\nTraceback")
    assert "sgl_explain: " not in done.stderr


def test_install_is_idempotent(program):
    done = program(INSTALL + INSTALL + FAIL + "_handle_dspark()")

    assert done.stderr.count("sgl_explain: ") == 1


def test_the_previous_hook_runs_first_and_once(program):
    body = (
        "import sys\ndef first(*a): print('first', file=sys.stderr)\nsys.excepthook = first\n"
        f"{INSTALL}{FAIL}_handle_dspark()"
    )
    done = program(body)

    assert done.stderr.startswith("first\nsgl_explain: ")
    assert done.stderr.count("first") == 1


def test_no_reference_to_the_exception_is_kept(program):
    body = (
        INSTALL + FAIL + "import sys, gc, weakref, logging\nclass Big: pass\n"
        "def fail():\n    big = Big(); global watch; watch = weakref.ref(big)\n"
        "    try: _handle_dspark()\n    except ValueError: logging.getLogger('sglang').exception('x')\n"
        "fail(); gc.collect(); print(watch() is None)"
    )

    assert program(body).stdout == "True\n"


def test_a_closed_standard_error_hurts_nobody(program):
    done = program(INSTALL + FAIL + "import sys; print('alive'); sys.stderr.close(); _handle_dspark()")

    assert done.stdout == "alive\n"
    assert done.returncode == 1
