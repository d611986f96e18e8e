"""The filter, the formatter and the processor in programs with their own logging: dictConfig, queues, libraries."""

import json

import pytest

DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
HINT = f"sgl-explain show {DSPARK_ID}"

BEGIN = """
import json, logging, logging.config, logging.handlers, queue, sys, traceback
from sglang.srt.arg_groups.speculative_hook import _handle_dspark, log_as_text
CONFIG = {
    "version": 1,
    "filters": {"explain": {"()": "sgl_explain.ExplainFilter"}},
    "formatters": {
        "plain": {"format": "%(levelname)s %(message)s"},
        "explain": {"class": "sgl_explain.ExplainFormatter", "format": "%(levelname)s %(message)s"},
        "tagged": {"format": "%(levelname)s id=%(sgl_explain_id)s"},
    },
    "handlers": {
        "out": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "explain",
                "filters": ["explain"]},
        "err": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "plain"},
    },
    "root": {"handlers": ["out"], "level": "INFO"},
    "disable_existing_loggers": False,
}
def configure(handlers=("out",), **changes):
    CONFIG["handlers"]["out"].update(changes)
    CONFIG["root"]["handlers"] = list(handlers)
    logging.config.dictConfig(CONFIG)
def fail(word="failed"):
    try: _handle_dspark()
    except ValueError: logging.getLogger("app").exception(word)
"""
INSTALL = "import sgl_explain; sgl_explain.install()\n"


@pytest.mark.parametrize("installed", ["", INSTALL], ids=["alone", "installed"])
@pytest.mark.parametrize("report", ["fail()", "log_as_text()"])
def test_the_formatter_appends_the_explanation_once(program, installed, report):
    done = program(BEGIN + installed + "configure()\n" + report)
    logged, _, explanation = done.stdout.partition("\nsgl_explain: ")

    assert logged.splitlines()[-1].startswith("ValueError: DSpark")
    assert explanation.count(HINT) == 1
    assert "sgl_explain: " not in done.stderr


def test_what_comes_before_the_explanation_is_what_logging_formats(program):
    with_it = program(BEGIN + "configure()\nlogging.info('begin %s', 1); fail(); logging.error('end')").stdout
    without = program(BEGIN + "configure(formatter='plain')\nlogging.info('begin %s', 1); fail(); logging.error('end')")
    explanation = with_it[with_it.index("sgl_explain: ") : with_it.index("ERROR end")]

    assert with_it.replace(explanation, "") == without.stdout


def test_the_filter_names_the_entry_and_none_where_there_is_none(program):
    done = program(BEGIN + "configure(formatter='tagged')\nfail(); logging.error('odd'); logging.info('fine')")

    lines = [line for line in done.stdout.splitlines() if " id=" in line]
    assert lines == [f"ERROR id={DSPARK_ID}", "ERROR id=None", "INFO id=None"]


def test_the_filter_names_the_entry_each_time(program):
    done = program(BEGIN + "configure(formatter='tagged')\nfor _ in range(3): fail(); log_as_text()")

    assert done.stdout.count(f"id={DSPARK_ID}") == 6


def test_a_record_that_the_filter_named_is_still_explained_by_install(program):
    done = program(BEGIN + INSTALL + "configure(formatter='tagged')\nfail()")

    assert f"id={DSPARK_ID}" in done.stdout
    assert done.stderr.count(HINT) == 1


def test_every_handler_with_the_formatter_shows_the_same_explanation_once(program):
    body = 'CONFIG["handlers"]["err"]["formatter"] = "explain"\nconfigure(["out", "err"])\nfail()'
    done = program(BEGIN + INSTALL + body)

    assert (done.stdout.count(HINT), done.stderr.count(HINT)) == (1, 1)


def test_one_exception_that_is_logged_twice_and_then_ends_the_program_is_explained_once(program):
    body = (
        "configure()\n"
        "try: _handle_dspark()\n"
        "except ValueError:\n"
        "    logging.exception('inner'); logging.exception('outer'); raise"
    )
    done = program(BEGIN + INSTALL + body)

    assert done.stdout.count("ValueError: DSpark") == 2
    assert (done.stdout + done.stderr).count(HINT) == 1


def test_json_logs_carry_the_id(program):
    body = (
        "class Json(logging.Formatter):\n"
        "    def format(self, record):\n"
        "        return json.dumps({'message': record.getMessage(), 'id': record.sgl_explain_id})\n"
        "CONFIG['formatters']['json'] = {'()': Json}\nconfigure(formatter='json')\nfail()"
    )

    assert json.loads(program(BEGIN + body).stdout) == {"message": "failed", "id": DSPARK_ID}


QUEUE = """
waiting = queue.Queue()
configure(formatter=LISTENER)
out = logging.getLogger().handlers[0]
sender = logging.handlers.QueueHandler(waiting)
import sgl_explain
if BEFORE: sender.addFilter(sgl_explain.ExplainFilter())
if FORMATS: sender.setFormatter(sgl_explain.ExplainFormatter("%(message)s"))
if not AFTER: out.filters.clear()
logging.getLogger().handlers[:] = [sender]
listener = logging.handlers.QueueListener(waiting, out)
listener.start(); fail(); listener.stop()
"""


def queued(listener, *, before=False, after=False, formats=False):
    return f"LISTENER, BEFORE, AFTER, FORMATS = {listener!r}, {before}, {after}, {formats}\n" + QUEUE


@pytest.mark.parametrize("where", [{"before": True}, {"after": True}, {"before": True, "after": True}])
def test_the_filter_works_before_a_queue_and_after_it(program, where):
    done = program(BEGIN + queued("tagged", **where))

    assert f"id={DSPARK_ID}" in done.stdout, done.stderr


@pytest.mark.parametrize("formats", [False, True])
@pytest.mark.parametrize("listener", ["plain", "explain"])
def test_a_queue_passes_one_explanation_on_if_either_side_appends_it(program, listener, formats):
    done = program(BEGIN + queued(listener, before=True, formats=formats))

    assert done.stdout.count(HINT) == (1 if formats or listener == "explain" else 0), done.stdout


@pytest.mark.parametrize("formats", [False, True])
def test_in_front_of_a_queue_the_formatter_comes_before_install(program, formats):
    done = program(BEGIN + INSTALL + queued("plain", formats=formats))

    assert (done.stdout.count(HINT), done.stderr.count(HINT)) == ((1, 0) if formats else (0, 1))


def test_a_record_of_another_process_that_is_explained_already_is_not_explained_again(program):
    first = program(BEGIN + "configure()\nfail()").stdout
    done = program(BEGIN + f"configure()\nlogging.error({first!r})")

    assert done.stdout.count(HINT) == 1


def test_errors_that_have_nothing_to_do_with_sglang_are_formatted_as_ever(program):
    body = "configure()\ntry: 1 / 0\nexcept ZeroDivisionError: logging.exception('x')"

    assert program(BEGIN + body).stdout.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_it_is_off_by_the_variable(program):
    done = program(BEGIN + "configure()\nfail()", SGL_EXPLAIN="0")

    assert done.stdout.splitlines()[-1].startswith("ValueError: DSpark")


def test_a_broken_explainer_changes_no_line(program):
    broken = "import sgl_explain.explanation as m\ndef explained(*a): raise SystemExit(9)\nm.explained = explained\n"
    done = program(BEGIN + broken + "configure()\nfail()")

    assert done.stdout.splitlines()[-1].startswith("ValueError: DSpark")
    assert done.returncode == 0


UVICORN = """
import asyncio, urllib.request, uvicorn, uvicorn.config, sgl_explain
class Explaining(sgl_explain.ExplainFormatter, uvicorn.logging.DefaultFormatter): pass
async def app(scope, receive, send):
    _handle_dspark()
config = uvicorn.config.LOGGING_CONFIG
if FORMATS:
    config["formatters"]["default"]["()"] = Explaining
    config["filters"] = {"explain": {"()": "sgl_explain.ExplainFilter"}}
    config["handlers"]["default"]["filters"] = ["explain"]
    config["formatters"]["default"]["fmt"] = "%(levelprefix)s %(sgl_explain_id)s %(message)s"
server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_config=config))
async def main():
    serving = asyncio.create_task(server.serve())
    while not server.started: await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    for _ in range(2):
        try: await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/", timeout=30)
        except urllib.error.HTTPError as error: print(error.code)
    server.should_exit = True
    await serving
asyncio.run(main())
"""


@pytest.mark.parametrize("installed", ["", INSTALL], ids=["alone", "installed"])
def test_uvicorns_own_configuration_takes_both(program, installed):
    done = program(BEGIN + installed + "FORMATS = True\n" + UVICORN)

    assert [line for line in done.stdout.splitlines() if line.isdigit()] == ["500", "500"]
    assert f"{DSPARK_ID} Exception in ASGI application" in done.stderr
    assert done.stderr.count(HINT) == 2  # one a request, as each has an exception of its own


def test_uvicorn_as_it_is_is_explained_by_install(program):
    done = program(BEGIN + INSTALL + "FORMATS = False\n" + UVICORN)

    assert done.stderr.count(HINT) == 2


STRUCTLOG_STDLIB = """
import structlog, sgl_explain
class Explaining(sgl_explain.ExplainFormatter, structlog.stdlib.ProcessorFormatter): pass
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(Explaining(processor=structlog.dev.ConsoleRenderer(
    colors=False, exception_formatter=structlog.dev.plain_traceback)))
logging.getLogger().addHandler(handler)
structlog.configure(processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
                    logger_factory=structlog.stdlib.LoggerFactory())
try: _handle_dspark()
except ValueError: structlog.get_logger("app").exception("failed", request=7)
"""


@pytest.mark.parametrize("installed", ["", INSTALL], ids=["alone", "installed"])
def test_structlogs_formatter_takes_the_explanation(program, installed):
    done = program(BEGIN + installed + STRUCTLOG_STDLIB)

    assert "request=7" in done.stdout
    assert done.stdout.index("ValueError: DSpark") < done.stdout.index("sgl_explain: ")
    assert (done.stdout + done.stderr).count(HINT) == 1


STRUCTLOG = """
import structlog, sgl_explain
structlog.configure(processors=[PROCESSORS, structlog.processors.JSONRenderer()],
                    logger_factory=structlog.PrintLoggerFactory())
try: _handle_dspark()
except ValueError: structlog.get_logger().exception("failed")
structlog.get_logger().error("odd")
"""


def test_structlog_by_itself_takes_the_processor_after_the_exception_is_text(program):
    processors = "structlog.processors.format_exc_info, sgl_explain.explain_event"
    first, second = map(
        json.loads, program(BEGIN + STRUCTLOG.replace("PROCESSORS", processors)).stdout.splitlines()
    )  # fmt: skip

    assert (first["sgl_explain_id"], second["sgl_explain_id"]) == (DSPARK_ID, None)
    assert first["exception"].count(HINT) == 1


def test_structlog_by_itself_takes_the_processor_before_the_exception_is_rendered(program):
    processors = "sgl_explain.explain_event, structlog.processors.dict_tracebacks"
    first, _ = map(json.loads, program(BEGIN + STRUCTLOG.replace("PROCESSORS", processors)).stdout.splitlines())

    assert first["sgl_explain_id"] == DSPARK_ID


LOGURU = """
import sgl_explain
from loguru import logger
logger.remove()
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(sgl_explain.ExplainFormatter())
logger.add(handler, format="{level} {message}", backtrace=False)
try: _handle_dspark()
except ValueError: logger.exception("failed")
"""


@pytest.mark.parametrize("installed", ["", INSTALL], ids=["alone", "installed"])
def test_loguru_takes_a_handler_with_the_formatter(program, installed):
    done = program(BEGIN + installed + LOGURU)

    assert done.stdout.startswith("ERROR failed")
    assert done.stdout.index("ValueError: DSpark") < done.stdout.index("sgl_explain: ")
    assert (done.stdout + done.stderr).count(HINT) == 1


INTERCEPT = """
from loguru import logger
class Intercept(logging.Handler):
    def emit(self, record):
        logger.opt(exception=record.exc_info).log(record.levelname, record.getMessage() + f" [{record.sgl_explain_id}]")
handler = Intercept()
import sgl_explain
handler.addFilter(sgl_explain.ExplainFilter())
logging.basicConfig(handlers=[handler], force=True)
fail()
"""


def test_loguru_behind_an_intercepting_handler_gets_the_id_and_install_explains(program):
    done = program(BEGIN + INSTALL + INTERCEPT)

    assert f"failed [{DSPARK_ID}]" in done.stderr
    assert done.stderr.count(HINT) == 1


def test_a_thousand_different_errors_are_not_all_looked_at(program):
    body = (
        "import sgl_explain.integrations.log_config as m\nlooks = []\n"
        "def counting(*a, **k): looks.append(1)\nm.entry_id_in = counting\n"
        "m.explain_text = lambda *a, **k: looks.append(1) or ()\n"
        "configure()\nsys.stdout = open('/dev/null', 'w')\n"
        "for n in range(1000): logging.error('thing %s failed', 'x' * n)\nprint(len(looks) < 100, file=sys.stderr)"
    )

    assert program(BEGIN + body).stderr == "True\n"
