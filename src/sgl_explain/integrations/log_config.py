"""For programs with a logging configuration of their own: a filter, a formatter, and a processor for structlog.

They work with and without `install`, by ``dictConfig`` and by hand, before a queue and after it. What they look at are
records of level ERROR and above, as all of our surfaces do.
"""

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sgl_explain.integrations._guard import entry_id_of, explanations_of, is_off, remember, within_budget
from sgl_explain.integrations._records import Recent, error_of, exception_given, is_of_sglang, text_of
from sgl_explain.integrations._texts import entry_id_in, explain_text

if TYPE_CHECKING:
    from sgl_explain.explanation import Explanation

_ID: Final = "sgl_explain_id"
# one record goes to several handlers, and each of their outputs shows the same explanation
_pages_by_record: Final["WeakKeyDictionary[logging.LogRecord, tuple[str, ...]]"] = WeakKeyDictionary()
_recent_ids: Final = Recent()
_recent_texts: Final = Recent()


class ExplainFilter(logging.Filter):
    """Sets ``record.sgl_explain_id``: the id of the entry that explains a record, otherwise None. Lets all pass.

    For JSON logs, alerts and counts; ``sgl-explain show ID`` prints the page. ``"()": "sgl_explain.ExplainFilter"``.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Mark the record, unless a filter before a queue did, and let it pass."""
        if _ID not in record.__dict__:
            record.__dict__[_ID] = _entry_id(record)
        return True


class ExplainFormatter(logging.Formatter):
    """Appends the short explanation to a record that reports an explained error; takes what its base class takes.

    Combines with other formatters by inheritance: ``class Mine(ExplainFormatter, uvicorn.logging.DefaultFormatter)``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted record, and its explanation below it if it is the first to report this error."""
        text = super().format(record)
        return "\n".join((text, *_pages(record, text)))


def explain_event(logger: object, method_name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Set ``sgl_explain_id`` in a structlog event, and append the explanation where its exception is text already.

    A processor; put it after ``structlog.processors.format_exc_info`` if that is used, otherwise before the renderer.
    """
    shown = event.get("exception")
    is_error = method_name in ("error", "critical", "exception", "fatal")
    error = exception_given(event.get("exc_info"))
    record = logging.makeLogRecord(
        {
            "name": str(getattr(logger, "name", "")),
            "levelno": logging.ERROR if is_error else logging.NOTSET,
            "msg": shown if isinstance(shown, str) else str(event.get("event")),
            "exc_info": (type(error), error, error.__traceback__) if error is not None else None,
        }
    )
    event[_ID] = _entry_id(record)
    if isinstance(shown, str):
        event["exception"] = "\n".join((shown, *_pages(record, shown)))
    return event


def _entry_id(record: logging.LogRecord) -> str | None:
    if record.levelno < logging.ERROR or is_off():
        return None
    error = error_of(record)
    if error is not None:
        return entry_id_of(error)
    text = text_of(record) or record.getMessage()
    if not _recent_ids.is_known(text):
        if not _recent_ids.has_room():
            return None
        _recent_ids.keep(text, entry_id_in(text, in_sglang=is_of_sglang(record)))
    return _recent_ids.kept(text)


def _pages(record: logging.LogRecord, text: str) -> tuple[str, ...]:
    if record.levelno < logging.ERROR or is_off():
        return ()
    if record not in _pages_by_record:
        _pages_by_record[record] = _rendered(_explanations(record), text)
    return _pages_by_record[record]


def _explanations(record: logging.LogRecord) -> "tuple[Explanation, ...]":
    error = error_of(record)
    if error is not None:
        return explanations_of(error)
    text = text_of(record)
    if not _recent_texts.is_worth_a_look(text):
        return ()
    found = explain_text(text, in_sglang=is_of_sglang(record))
    return tuple(explanation for explanation in found if not explanation.is_wrapper)


def _rendered(explanations: "tuple[Explanation, ...]", text: str) -> tuple[str, ...]:
    """The explanations as text; none where a formatter in another process has appended them already."""
    pages = within_budget(lambda: tuple(map(str, explanations))) if explanations else None
    news = tuple(page for page in pages or () if page.partition("\n")[0] not in text)
    for explanation in explanations if news else ():
        remember(explanation)
    return news
