"""Errors that a program only speaks of, in a log record or a warning; its exception may still be being handled."""

import sys
from typing import TYPE_CHECKING, Final

from sgl_explain.integrations._guard import entry_id_of, explained_safely, explanations_of, is_news, within_budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgl_explain.evidence import Evidence
    from sgl_explain.explanation import Explanation

TRACEBACK: Final = "Traceback (most recent call last)"
_HEAD_CHARS: Final = 16_000
_TAIL_CHARS: Final = 32_000


def explain_text(text: str, *, in_sglang: bool = False) -> "tuple[Explanation, ...]":
    """Explain a text that reports an error, once for the same values.

    SGLang formats a caught exception into a string; while that string is made the exception is still being handled,
    and says more than the text does.
    """
    handled = _handled_error(text)
    found = explanations_of(handled) if handled is not None else _pages_of_text(text, in_sglang)
    return tuple(explanation for explanation in found if is_news(explanation))


def entry_id_in(text: str, *, in_sglang: bool = False) -> str | None:
    """Return which entry accounts for a text that reports an error; this does not count as showing it."""
    handled = _handled_error(text)
    if handled is not None:
        return entry_id_of(handled)
    return next((page.id for page in _pages_of_text(text, in_sglang)), None)


def _pages_of_text(text: str, in_sglang: bool) -> "tuple[Explanation, ...]":
    found = within_budget(lambda: _from_text(_head_and_tail(text), in_sglang))
    return (found,) if found is not None and not found.is_harmless else ()


def _handled_error(text: str) -> BaseException | None:
    error = sys.exc_info()[1]
    if error is None or type(error).__name__ not in text:
        return None
    return error


def _head_and_tail(text: str) -> str:
    """The text without the middle of an enormous one: an exception stands at the end of its traceback."""
    if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
        return text
    return text[:_HEAD_CHARS] + "\n" + text[-_TAIL_CHARS:]


def _from_text(text: str, in_sglang: bool) -> "Explanation | None":
    found = (explained_safely(evidence) for evidence in _evidence(text, in_sglang) if evidence.may_involve_sglang)
    explanations = [explanation for explanation in found if explanation is not None]
    return min(explanations, key=lambda explanation: explanation.is_wrapper, default=None)


def _evidence(text: str, in_sglang: bool) -> "Iterator[Evidence]":
    from dataclasses import replace

    from sgl_explain.environment import current_context
    from sgl_explain.evidence import Evidence, Raised, clipped
    from sgl_explain.log_stream import incidents
    from sgl_explain.log_stream.message import with_replies

    context = current_context()
    context = replace(context, sglang_in_picture=context.sglang_in_picture or in_sglang)
    if TRACEBACK not in text:
        yield Evidence(with_replies(Raised((), clipped(text))), context)
        return
    for incident in incidents(text.splitlines(), context):
        yield incident.evidence
