"""What a hooked program keeps: its signals, its speed, the place of its log calls, its memory of shown errors."""

import pytest

INSTALL = "import sgl_explain; sgl_explain.install()\n"
FAIL = "from sglang.srt.arg_groups.speculative_hook import _handle_dspark\n"


def test_what_a_signal_handler_raises_reaches_the_program(program):
    body = (
        INSTALL + FAIL + "import logging, signal\n"
        "import sgl_explain.integrations._guard as guard\n"
        "class Timeout(Exception): pass\n"
        "def ring(*_): raise Timeout\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "caught = 0\n"
        "for turn in range(10):\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.02)\n"
        "    try:\n"
        "        while True: [guard.show(e) for e in guard.explanations_of(ValueError(1))]\n"
        "    except Timeout: caught += 1\n"
        "print(caught)"
    )

    assert program(body).stdout == "10\n"


def test_a_recipe_that_looks_for_the_logging_call_finds_the_caller(program):
    body = (
        INSTALL + "import inspect, logging\n"
        "class Intercept(logging.Handler):\n"
        "    def emit(self, record):\n"
        "        frame = inspect.currentframe()\n"
        "        while frame.f_code.co_name == 'emit' or frame.f_code.co_filename == logging.__file__:\n"
        "            frame = frame.f_back\n"
        "        print(frame.f_code.co_name)\n"
        "logging.basicConfig(handlers=[Intercept()], level=0)\n"
        "def caller(): logging.info('x')\n"
        "caller()"
    )

    assert program(body).stdout == "caller\n"


def test_a_resource_warning_keeps_its_allocation_traceback(program):
    body = (
        "import warnings, tracemalloc\ntracemalloc.start(3)\nwarnings.simplefilter('always')\n"
        "f = open(__file__)\nf = None\n"
    )
    plain, explained = program("pass\n" + body), program(INSTALL + body)

    assert "Object allocated at" in plain.stderr
    assert "Object allocated at" in explained.stderr


def test_a_busy_log_is_looked_at_a_few_times_a_second(program):
    body = (
        INSTALL + FAIL + "import logging, time\n"
        "import sgl_explain.integrations._guard as guard\n"
        "looks = []\n"
        "budget = guard.within_budget\n"
        "import sgl_explain.integrations._texts as texts\n"
        "def counting(work): looks.append(1); return budget(work)\n"
        "texts.within_budget = counting\n"
        "logging.disable(logging.NOTSET)\n"
        "logging.basicConfig(handlers=[logging.NullHandler()])\n"
        "for number in range(3000): logging.error('thing %s failed' % ('x' * (number % 50)))\n"
        "print(len(looks) < 30)"
    )

    assert program(body).stdout == "True\n"


def test_texts_that_differ_in_numbers_are_looked_at_once(program):
    body = (
        INSTALL + FAIL + "import logging\nimport sgl_explain.integrations._texts as texts\n"
        "looks = []\nbudget = texts.within_budget\n"
        "def counting(work): looks.append(1); return budget(work)\ntexts.within_budget = counting\n"
        "logging.basicConfig(handlers=[logging.NullHandler()])\n"
        "for number in range(100): logging.error(f'request {number} failed')\nprint(len(looks))"
    )

    assert program(body).stdout == "1\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_stream_of_another_encoding_gets_what_it_can_show(program, encoding):
    done = program(INSTALL + FAIL + "_handle_dspark()", PYTHONIOENCODING=encoding)

    assert "sgl_explain: " in done.stderr
    assert done.returncode == 1


def test_an_exception_that_was_explained_can_be_pickled(program):
    body = (
        INSTALL + FAIL + "import pickle, logging\ntry: _handle_dspark()\nexcept ValueError as error:\n"
        "    logging.getLogger('sglang').exception('x'); print(pickle.loads(pickle.dumps(error)).args == error.args)"
    )

    assert program(body).stdout == "True\n"


def test_a_huge_logged_traceback_keeps_its_end(program):
    body = (
        INSTALL
        + FAIL
        + "import logging, traceback\ntry: _handle_dspark()\nexcept ValueError: text = traceback.format_exc()\n"
        "first, rest = text.split('\\n', 1)\n"
        "filler = '  File \"x.py\", line 1, in f\\n    call()\\n' * 4000\n"
        "logging.getLogger('sglang.srt').error('Scheduler hit an exception: ' + first + '\\n' + filler + rest)"
    )

    assert "sgl-explain show dspark-draft-tokens-not-gamma-plus-one" in program(body).stderr


def test_a_frozen_worker_is_abandoned_and_explaining_is_off(program):
    body = (
        INSTALL + FAIL + "import os, time, logging\nimport sgl_explain.integrations._guard as guard\n"
        "guard.BUDGET_S = 0.2; os.environ['SGL_EXPLAIN_DEBUG'] = '1'\n"
        "import sgl_explain.explanation as m\nm.explained = lambda *a: time.sleep(60)\n"
        "start = time.monotonic()\n"
        "for letter in 'abcdef': logging.getLogger('sglang').error('odd ' + letter * 4)\n"
        "print(time.monotonic() - start < 2, guard.is_off())"
    )

    done = program(body)
    assert done.stdout == "True True\n"
    assert done.stderr.count("sgl_explain took longer than 0.2 s and explains nothing more in this process\n") == 1
