"""The manners every hook keeps: never raise, never hang, never explain twice, keep nothing alive.

The explaining itself runs in a daemon thread with a time budget; what overruns it is abandoned, and explaining is
off for the rest of the process. Own failures are silent unless ``SGL_EXPLAIN_DEBUG=1``.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sgl_explain.evidence import Evidence
    from sgl_explain.explanation import Explanation

Undo = Callable[[], None]

BUDGET_S: Final = 5.0
"""How long one explanation may take, first load of the knowledge included; it takes a tenth of a second."""

AFTERMATH_S: Final = 10.0
"""For how long after an explanation what follows counts as the same failure seen by another surface."""

_MAX_REMEMBERED: Final = 512
_MARK: Final = "__sgl_explained__"
_PASSING: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)


@dataclass
class _Process:
    """The state of explaining in this process."""

    has_overrun: bool = False
    told: dict[tuple[object, ...], float] = field(default_factory=dict)
    cause_told_at: float = -math.inf
    display: "Callable[[Explanation], None] | None" = None
    busy: threading.local = field(default_factory=threading.local)


_process = _Process()


def is_off() -> bool:
    """Tell whether explaining is off: by ``SGL_EXPLAIN=0``, or because it once took too long here."""
    return _setting("SGL_EXPLAIN") == "0" or _process.has_overrun


def _setting(name: str) -> str | None:
    """A variable's value, also under the name to which SGLang rewrites ``SGL_…`` (with a warning of its own)."""
    return os.environ.get(name) or os.environ.get(name.replace("SGL_", "SGLANG_", 1))


@contextmanager
def never_in_the_way() -> Iterator[None]:
    """Swallow whatever our own work raises; only the user's Ctrl-C passes."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - nothing of ours may reach the user's program
        if _setting("SGL_EXPLAIN_DEBUG") == "1":
            import traceback

            traceback.print_exc()


def explain_error(error: BaseException) -> "Explanation | None":
    """Explain a live exception once; None if nothing accounts for it or it was explained before."""
    if is_off() or isinstance(error, _PASSING):
        return None
    with never_in_the_way():
        from sgl_explain.environment import current_context
        from sgl_explain.evidence import evidence_from

        links = _chain(error)
        if any(_has_note_of_ours(link) for link in links):
            return None
        told = {getattr(link, _MARK, None) for link in links}
        explanation = explain_evidence(evidence_from(error, current_context()))
        if explanation is None or explanation.is_harmless or explanation.id in told:
            return None
        for link in links:
            _mark(link, explanation)
        return explanation
    return None


def explain_evidence(evidence: "Evidence") -> "Explanation | None":
    """Explain within the time budget; None if it takes longer, fails, or yields something else."""
    from sgl_explain.explanation import Explanation

    if is_off() or getattr(_process.busy, "here", False):
        return None
    _process.busy.here = True
    try:
        found = _within_budget(evidence)
    finally:
        _process.busy.here = False
    return found if isinstance(found, Explanation) and isinstance(found.id, str) else None


def is_news(explanation: "Explanation", within_s: float = math.inf) -> bool:
    """Tell whether this process has not yet, or not in the last seconds, shown the same explanation of the same values.

    A mere report of another failure is no news right after that failure was explained.
    """
    if explanation.is_wrapper and time.monotonic() - _process.cause_told_at < AFTERMATH_S:
        return False
    told_at = _process.told.get(_key(explanation))
    return told_at is None or time.monotonic() - told_at > within_s


def _key(explanation: "Explanation") -> tuple[object, ...]:
    return (explanation.id, *sorted(explanation.captures.items()))


def _remember(explanation: "Explanation") -> None:
    if len(_process.told) >= _MAX_REMEMBERED:
        _process.told.pop(next(iter(_process.told)))
    _process.told[_key(explanation)] = time.monotonic()
    if not explanation.is_wrapper:
        _process.cause_told_at = time.monotonic()


def show_by(display: "Callable[[Explanation], None] | None") -> None:
    """Show explanations by this from now on, instead of printing them on standard error; None goes back to that."""
    _process.display = display


def show(explanation: "Explanation | None") -> None:
    """Print an explanation on standard error, or by what `show_by` set, if there is one and a place for it."""
    with never_in_the_way():
        if explanation is None:
            return
        _remember(explanation)
        if _process.display is not None:
            _process.display(explanation)
        elif sys.stderr is not None:
            from sgl_explain.render.choose import print_explanation

            print_explanation(explanation, sys.stderr)


def show_news(explanation: "Explanation | None") -> None:
    """Show an explanation unless another surface has just shown it."""
    with never_in_the_way():
        if explanation is not None and is_news(explanation, AFTERMATH_S):
            show(explanation)


def _within_budget(evidence: "Evidence") -> object:
    found: list[object] = []

    def work() -> None:
        with never_in_the_way():
            from sgl_explain.explanation import explained
            from sgl_explain.knowledge_base import bundled_knowledge

            found.append(explained(evidence, bundled_knowledge()))

    worker = threading.Thread(target=work, name="sgl_explain", daemon=True)
    worker.start()
    worker.join(BUDGET_S)
    if worker.is_alive():
        _process.has_overrun = True
        return None
    return found[0] if found else None


def _chain(error: BaseException) -> list[BaseException]:
    from sgl_explain.evidence import links_of

    return list(links_of(error))


def _has_note_of_ours(error: BaseException) -> bool:
    from sgl_explain.render.notes import is_note

    notes = getattr(error, "__notes__", None)
    return isinstance(notes, list) and any(is_note(note) for note in notes)


def _mark(error: BaseException, explanation: "Explanation") -> None:
    """Remember on the exception itself that it was explained, so that no reference to it is kept."""
    try:
        setattr(error, _MARK, explanation.id)
    except Exception:  # noqa: BLE001 - an exception with slots or a strict __setattr__ stays unmarked
        return
