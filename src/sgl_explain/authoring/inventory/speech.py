"""How SGLang's statements speak: which call shows a text, as what, and which of its arguments is the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from sgl_explain.authoring.inventory.fold import fold, texts
from sgl_explain.authoring.inventory.returns import returns
from sgl_explain.authoring.inventory.saying import Kind
from sgl_explain.authoring.inventory.scope import Scope, called, dotted, meanings, member
from sgl_explain.authoring.inventory.source import Function
from sgl_explain.authoring.inventory.text import Hole, Rows, Text, Value, concatenated, few, has_literal, percent_pieces
from sgl_explain.authoring.inventory.walk import Walk


@dataclass(frozen=True, slots=True)
class Speech:
    """What one statement shows: its possible texts, the empty one if it has none."""

    kind: Kind
    texts: tuple[Text, ...]
    exception: str | None = None
    level: str | None = None
    via: str | None = None


@dataclass(frozen=True, slots=True)
class _Sink:
    """A callable that hands a text to the user, and where among its arguments that text is."""

    kind: Kind
    keyword: str
    position: int | None = None


_SINKS = {
    "HTTPException": _Sink("http", "detail", 1),
    "ErrorResponse": _Sink("http", "message"),
    "AnthropicError": _Sink("http", "message"),
    "RealtimeError": _Sink("http", "message"),
    "create_error_response": _Sink("http", "message", 0),
    "_create_error_response": _Sink("http", "e", 0),
    "create_streaming_error_response": _Sink("http", "message", 0),
    "FINISH_ABORT": _Sink("abort", "message", 0),
    "AbortReq": _Sink("abort", "abort_message"),
    "prepare_abort": _Sink("abort", "error_message", 1),
    "set_finish_with_abort": _Sink("abort", "error_msg", 0),
    "record_failure": _Sink("abort", "failure_reason", 1),
    "add_argument": _Sink("parser", "error_message"),  # of SGLang's DeprecatedAction, which hands it to parser.error
}
_LEVELS = {"warning": "warning", "warn": "warning", "error": "error", "exception": "error", "critical": "critical"}
_LEVELS["fatal"] = "critical"
_MESSAGE_KEYWORDS = ("message", "msg", "detail", "error", "reason", "description")
_KINDS_OF_EXCEPTIONS: dict[str, Kind] = {
    "HTTPException": "http",
    "ArgumentTypeError": "parser",
    "ArgumentError": "parser",
}
_WARN = frozenset({"warnings.warn", "warn"})
_PRINT = frozenset({"print", "sys.stderr.write", "sys.stdout.write"})
_FIRST_ERROR_STATUS = 400


def asserted(statement: ast.Assert, scope: Scope) -> Speech:
    """Return what an assert says when it fails."""
    said = _literal(texts(statement.msg, scope)) if statement.msg else ()
    return Speech("assert", said, "AssertionError")


def raised(expression: ast.expr, scope: Scope) -> Iterator[Speech]:
    """Yield what raising this says: a call, an exception built before, or what a helper builds."""
    match expression:
        case ast.Call():
            yield from _raised_call(expression, scope)
        case ast.IfExp(body=body, orelse=orelse):
            yield from raised(body, scope)
            yield from raised(orelse, scope)
        case ast.Name() | ast.Attribute():
            yield from _raised_name(expression, scope)


def _raised_call(call: ast.Call, scope: Scope) -> Iterator[Speech]:
    if any(isinstance(bound.node, ast.FunctionDef | ast.AsyncFunctionDef) for bound in meanings(call.func, scope)):
        for expression, inside in returns(call, scope):
            yield from raised(expression, inside)
        return
    name = dotted(call.func)
    kind = _KINDS_OF_EXCEPTIONS.get(name.rpartition(".")[2], "raise")
    yield Speech(kind, _literal(_exception_texts(call, scope)), name or None)


def _raised_name(expression: ast.Name | ast.Attribute, scope: Scope) -> Iterator[Speech]:
    """Yield what ``raise name`` says; nothing for an exception that was caught or handed in."""
    bounds = meanings(expression, scope)
    for bound in bounds:
        if isinstance(bound.node, ast.expr):
            yield from raised(bound.node, bound.scope)
    last = dotted(expression).rpartition(".")[2]
    is_class = last[:1].isupper() and last.endswith(("Error", "Exception", "Interrupt", "Iteration", "Exit"))
    if any(isinstance(bound.node, ast.ClassDef) for bound in bounds) or (is_class and not bounds):
        yield Speech("raise", (), dotted(expression))


def _exception_texts(call: ast.Call, scope: Scope) -> tuple[Text, ...]:
    for bound in meanings(call.func, scope):
        if isinstance(bound.node, ast.ClassDef):
            for init in member(bound.node, "__init__", bound.scope.place.module):
                if isinstance(init.node, ast.FunctionDef) and (own := _constructed(init.node, init.scope, call, scope)):
                    return own
    last = dotted(call.func).rpartition(".")[2]
    if last in _SINKS:
        return _argument_texts(call, _SINKS[last], scope)
    for argument in call.args:  # OSError has an error number first, others a request
        if said := _literal(_said(argument, scope)):
            return said
    return _keyword_texts(call, scope)


def _constructed(init: Function, scope: Scope, call: ast.Call, caller: Scope) -> tuple[Text, ...]:
    """Return what an exception class of SGLang's own hands to ``super().__init__`` for this call."""
    walk = Walk()
    walk.through(init.body, called(init, scope, call, caller))
    said: list[Text] = []
    for step in walk.steps:
        match step.statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(), attr="__init__"), args=[first, *_])):
                said += texts(first, step.scope)
    return tuple(said)


def _keyword_texts(call: ast.Call, scope: Scope) -> tuple[Text, ...]:
    for name in _MESSAGE_KEYWORDS:
        for keyword in call.keywords:
            if keyword.arg == name:
                return _said(keyword.value, scope)
    return ()


def _said(expression: ast.expr, scope: Scope) -> tuple[Text, ...]:
    return tuple(text for value in fold(expression, scope) for text in _body_texts(value))


def _literal(said: tuple[Text, ...]) -> tuple[Text, ...]:
    """Drop texts that are all holes, but keep what a caller's text can fill."""
    return few(
        text for text in said if has_literal(text) or any(isinstance(part, Hole) and part.owner for part in text)
    )


def shown(call: ast.Call, scope: Scope) -> Speech | None:
    """Return what a call shows by itself, if it is one of the ways SGLang speaks."""
    path = dotted(call.func) or _method_name(call)
    receiver, _, name = path.rpartition(".")
    if _is_logger(receiver, call):
        return _logged(call, name, scope)
    if name in _SINKS:
        return _sunk(call, _SINKS[name], scope)
    if name.endswith("Response") and _is_error_status(call):
        return _response(call, scope)
    return _shown_text(call, path, scope) if call.args else None


def _shown_text(call: ast.Call, path: str, scope: Scope) -> Speech | None:
    """Return what a call shows whose first argument is the text."""
    if path in _WARN:
        return Speech("warning", _literal(texts(call.args[0], scope)))
    if path == "sys.exit":
        said = _literal(texts(call.args[0], scope))
        return Speech("raise", said, "SystemExit") if said else None
    if path.endswith(".error") and "parser" in path.lower():
        return Speech("parser", _literal(texts(call.args[0], scope)), "SystemExit")
    return _printed(call, scope) if path in _PRINT else None


_LEVELS_AND_VARIANTS = {
    name + suffix: level for name, level in _LEVELS.items() for suffix in ("", "_once", "_rank0", "_on_rank0")
}


def _method_name(call: ast.Call) -> str:
    """Return ``().name`` for a method of what another call gave."""
    return f"().{call.func.attr}" if isinstance(call.func, ast.Attribute) else ""


def _is_logger(receiver: str, call: ast.Call) -> bool:
    if receiver == "()" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        receiver = dotted(call.func.value.func)
    return "log" in receiver.rpartition(".")[2].lower()


def _logged(call: ast.Call, name: str, scope: Scope) -> Speech | None:
    if name == "log" and call.args:
        level = _LEVELS.get(dotted(call.args[0]).rpartition(".")[2].lower())
        return Speech("log", _log_texts(call.args[1:], scope), level=level) if level else None
    level = _LEVELS_AND_VARIANTS.get(name)
    return Speech("log", _log_texts(call.args, scope), level=level) if level else None


def _log_texts(arguments: list[ast.expr], scope: Scope) -> tuple[Text, ...]:
    if not arguments:
        return ()
    messages = texts(arguments[0], scope)
    if len(arguments) > 1:
        values = tuple(texts(argument, scope) for argument in arguments[1:])
        messages = few(text for message in messages for text in concatenated(percent_pieces(message, values, {})))
    return _literal(messages)


def _sunk(call: ast.Call, sink: _Sink, scope: Scope) -> Speech | None:
    said = _literal(_argument_texts(call, sink, scope))
    return Speech(sink.kind, said) if said or sink.position is not None else None


def _argument_texts(call: ast.Call, sink: _Sink, scope: Scope) -> tuple[Text, ...]:
    for keyword in call.keywords:
        if keyword.arg == sink.keyword:
            return _said(keyword.value, scope)
    if sink.position is not None and len(call.args) > sink.position:
        return _said(call.args[sink.position], scope)
    return ()


def _is_error_status(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "status_code":
            status = keyword.value
            is_success = (
                isinstance(status, ast.Constant)
                and isinstance(status.value, int)
                and status.value < _FIRST_ERROR_STATUS
            )
            return not is_success and not dotted(status).endswith((".OK", "_OK"))
    return False


def _response(call: ast.Call, scope: Scope) -> Speech | None:
    content = [keyword.value for keyword in call.keywords if keyword.arg == "content"] + call.args
    said = _literal(_said(content[0], scope)) if content else ()
    return Speech("http", said) if said else None


def _printed(call: ast.Call, scope: Scope) -> Speech | None:
    pieces: list[str | tuple[Text, ...]] = []
    for argument in call.args:
        pieces += [" ", texts(argument, scope)]
    said = tuple(text for text in concatenated(pieces[1:]) if has_literal(text))
    return Speech("print", said) if said else None


def error_body(body: ast.Dict, scope: Scope) -> Speech | None:
    """Return what a literal JSON body says if it reports an error or an aborted request."""
    value_by_key = {
        key.value: value for key, value in zip(body.keys, body.values, strict=True) if isinstance(key, ast.Constant)
    }
    kind_words = {value.value for value in value_by_key.values() if isinstance(value, ast.Constant)}
    if "error" not in value_by_key and not ("message" in value_by_key and kind_words & {"error", "abort"}):
        return None
    said = tuple(text for text in _literal(_said(body, scope)) if has_literal(text))
    return Speech("abort" if "abort" in kind_words else "http", said) if said else None


def _body_texts(value: Value) -> Iterator[Text]:
    """Yield the messages in a text or in a JSON body."""
    if not isinstance(value, Rows):
        yield value
    elif value.is_mapping:
        for keys, values in value.pairs():
            if any(isinstance(key, tuple) and key in _BODY_KEYS for key in keys):
                for inner in values:
                    yield from _body_texts(inner)


_BODY_KEYS = {(name,) for name in _MESSAGE_KEYWORDS}
