"""The manners every hook keeps: never raise, never hang, never explain twice, keep nothing alive.

All of our own work, imports and rendering included, runs in a worker thread with a time budget; the thread that hooks
run in only waits. So nothing of ours can raise there, and what a signal handler or another thread raises there is not
ours to catch. Work that overruns is abandoned, and explaining is off for the rest of the process. Own failures are
silent unless ``SGL_EXPLAIN_DEBUG=1``.
"""

import _thread
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from sgl_explain.evidence import Evidence
    from sgl_explain.explanation import Explanation

Undo = Callable[[], None]
_T = TypeVar("_T")

BUDGET_S: Final = 5.0
"""How long an explanation may take: the first one, with all that it loads, takes a third of a second, a later one a few
milliseconds; the rest is for a machine that stands still for a moment."""

AFTERMATH_S: Final = 10.0
"""For how long after an explanation what follows counts as the same failure seen by another surface."""

_MAX_PAGES: Final = 8
"""How many explanations one group of exceptions gets at most: a thousand requests can fail together."""

_MAX_REMEMBERED: Final = 512
_MARK: Final = "__sgl_explained__"
_NOT_ERRORS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, StopAsyncIteration)


@dataclass
class _Process:
    """The state of explaining in this process."""

    has_overrun: bool = False
    told: dict[tuple[object, ...], float] = field(default_factory=dict)
    cause_told_at: float = -math.inf
    display: "Callable[[Explanation], None] | None" = None
    thread: threading.local = field(default_factory=threading.local)


_process = _Process()


def is_off() -> bool:
    """Tell whether explaining is off: by ``SGL_EXPLAIN=0``, because it once took too long, or inside our own work."""
    return _setting("SGL_EXPLAIN") == "0" or _process.has_overrun or getattr(_process.thread, "is_worker", False)


def _setting(name: str) -> str | None:
    """A variable's value, also under the name to which SGLang rewrites ``SGL_…`` (with a warning of its own)."""
    return os.environ.get(name) or os.environ.get(name.replace("SGL_", "SGLANG_", 1))


def within_budget(work: Callable[[], _T]) -> _T | None:
    """Return what the work returns; None if it fails, takes too long, or no thread can be started any more."""
    if is_off() or sys.is_finalizing():
        return None
    found: list[_T] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        _process.thread.is_worker = True
        try:
            found.append(work())
        except BaseException:  # noqa: BLE001 - our own failure stays ours
            _report_own_failure()
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # no more threads: a limit, or the interpreter is ending
        return None
    if not done.acquire(timeout=BUDGET_S):
        _process.has_overrun = True
        if _is_debugged():
            _write(f"sgl_explain took longer than {BUDGET_S:g} s and explains nothing more in this process", sys.stderr)
        return None
    return found[0] if found else None


def explanations_of(error: BaseException) -> "tuple[Explanation, ...]":
    """Explain a live exception once, each leaf of a group for itself; empty if there is nothing (more) to say."""
    if isinstance(error, _NOT_ERRORS) or _mark_of(error) is not None:
        return ()
    found = within_budget(lambda: _news_of(error)) or ()
    _mark(error, found[0].id if found else "")
    return found


def entry_id_of(error: BaseException) -> str | None:
    """Return which entry accounts for a live exception, shown or not; this does not count as showing it."""
    mark = _mark_of(error)
    if mark is None and not isinstance(error, _NOT_ERRORS):
        mark = within_budget(lambda: next((page.id for _, page in _pages_of(error)), None))
    return mark if isinstance(mark, str) and mark else None


def explained_safely(evidence: "Evidence") -> "Explanation | None":
    """Explain in this very thread, which is a worker; None for anything that is no explanation of an entry."""
    from sgl_explain import explanation, knowledge_base

    found = explanation.explained(evidence, knowledge_base.bundled_knowledge())
    return found if isinstance(found, explanation.Explanation) and isinstance(found.id, str) else None


def _news_of(error: BaseException) -> "tuple[Explanation, ...]":
    """The pages that no link of their chain was explained by yet, the same page once."""
    from sgl_explain.evidence import links_of

    if any(_has_note_of_ours(link) for link in links_of(error)):
        return ()
    news = {}
    for failure, page in _pages_of(error):
        links = list(links_of(failure))
        if page.id not in {_mark_of(link) for link in links}:
            news[_key(page)] = page
        for link in links:
            _mark(link, page.id)
    return tuple(news.values())[:_MAX_PAGES]


def _pages_of(error: BaseException) -> "list[tuple[BaseException, Explanation]]":
    """What accounts for each leaf of a group, or for the whole chain where that explains more."""
    from dataclasses import replace

    from sgl_explain.environment import current_context
    from sgl_explain.evidence import evidence_from, failures_in
    from sgl_explain.remote_traceback import with_remote_links

    whole = with_remote_links(evidence_from(error, current_context()))
    context = replace(whole.context, sglang_in_picture=whole.involves_sglang)
    failures = failures_in(error)
    leaves = [leaf for leaf in failures if leaf is not error and not isinstance(leaf, _NOT_ERRORS)]
    found = [(leaf, explained_safely(with_remote_links(evidence_from(leaf, context)))) for leaf in leaves]
    if not any(page for _, page in found):
        found = [(error, explained_safely(whole))]
    return [(failure, page) for failure, page in found if page is not None and not page.is_harmless]


def is_news(explanation: "Explanation", within_s: float = math.inf) -> bool:
    """Tell whether this process has not yet, or not in the last seconds, shown the same explanation of the same values.

    A mere report of another failure is no news right after that failure was explained.
    """
    if explanation.is_wrapper and time.monotonic() - _process.cause_told_at < AFTERMATH_S:
        return False
    told_at = _process.told.get(_key(explanation))
    return told_at is None or time.monotonic() - told_at > within_s


def show(explanation: "Explanation | None") -> None:
    """Print an explanation on standard error, or by what `show_by` set, if there is one and a place for it."""
    if explanation is None:
        return
    if _process.display is not None:
        remember(explanation)
        _process.display(explanation)
        return
    stream = sys.stderr
    text = within_budget(lambda: _rendered(explanation, stream))
    if isinstance(text, str):
        remember(explanation)
        _write(text, stream)


def _write(text: str, stream: Any) -> None:
    try:
        stream.write(text + "\n")
        stream.flush()
    except UnicodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")
    except (OSError, ValueError, AttributeError):  # closed, gone, or never there
        return


def show_news(explanation: "Explanation | None") -> None:
    """Show an explanation unless another surface has just shown it."""
    if explanation is not None and is_news(explanation, AFTERMATH_S):
        show(explanation)


def show_by(display: "Callable[[Explanation], None] | None") -> None:
    """Show explanations by this from now on, instead of printing them on standard error; None goes back to that."""
    _process.display = display


def _rendered(explanation: "Explanation", stream: object) -> str:
    from sgl_explain.render.choose import text_for

    return text_for(explanation, stream)


def _key(explanation: "Explanation") -> tuple[object, ...]:
    return (explanation.id, *sorted(explanation.captures.items()))


def remember(explanation: "Explanation") -> None:
    """Count an explanation as shown."""
    if len(_process.told) >= _MAX_REMEMBERED:
        _process.told.pop(next(iter(_process.told)))
    _process.told[_key(explanation)] = time.monotonic()
    if not explanation.is_wrapper:
        _process.cause_told_at = time.monotonic()


def _has_note_of_ours(error: BaseException) -> bool:
    from sgl_explain.render.notes import is_note

    notes = _own_dict(error).get("__notes__")
    return isinstance(notes, list) and any(is_note(note) for note in notes)


def _mark_of(error: BaseException) -> object:
    return _own_dict(error).get(_MARK)


def _mark(error: BaseException, entry_id: str | None) -> None:
    """Remember on the exception itself that it was judged, so that no reference to it is kept."""
    _own_dict(error).setdefault(_MARK, entry_id or "")


def _own_dict(error: BaseException) -> dict[str, object]:
    """The exception's attributes, whatever its class makes of getting and setting them."""
    attributes: dict[str, object] = object.__getattribute__(error, "__dict__")
    return attributes


def _report_own_failure() -> None:
    if _is_debugged():
        import traceback

        traceback.print_exc()


def _is_debugged() -> bool:
    return _setting("SGL_EXPLAIN_DEBUG") == "1"
