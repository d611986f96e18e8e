"""Goes through a module and collects what its statements say, texts handed to helpers included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sgl_explain.authoring.inventory.fold import texts
from sgl_explain.authoring.inventory.returns import MAX_CALLS_DEEP
from sgl_explain.authoring.inventory.saying import Saying
from sgl_explain.authoring.inventory.scope import Bound, Place, Scope, arguments_of, entered, meanings
from sgl_explain.authoring.inventory.source import Function, Module
from sgl_explain.authoring.inventory.speech import Speech, asserted, error_body, raised, shown
from sgl_explain.authoring.inventory.text import Hole, Text, concatenated, few, has_literal, template, word_count
from sgl_explain.authoring.inventory.walk import Step, Walk

# Where a call that speaks can stand inside an expression; arithmetic, subscripts and comparisons hold none.
_OPEN_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Call: ("args", "keywords"),
    ast.keyword: ("value",),
    ast.Await: ("value",),
    ast.Yield: ("value",),
    ast.YieldFrom: ("value",),
    ast.JoinedStr: ("values",),
    ast.FormattedValue: ("value",),
    ast.IfExp: ("body", "orelse"),
    ast.BoolOp: ("values",),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Dict: ("values",),
    ast.Starred: ("value",),
    ast.Lambda: ("body",),
    ast.NamedExpr: ("value",),
}
_WITH_VALUE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
_FEW_WORDS = 3
_MESSAGE_NAMES = ("msg", "message", "reason", "err", "detail", "text")


def sayings_of(module: Module) -> Iterator[Saying]:
    """Yield everything a module can say, in no particular order, repetitions included."""
    yield from _sayings_in(module.tree.body, Scope(Place(module), {}))


def _sayings_in(body: list[ast.stmt], scope: Scope) -> Iterator[Saying]:
    walk = Walk()
    walk.through(body, scope)
    for step in walk.steps:
        for speech in speeches_at(step):
            yield from _sayings(step, speech)
    for definition, outer in walk.inner:
        yield from _sayings_inside(definition, outer)


def _sayings_inside(definition: Function | ast.ClassDef, outer: Scope) -> Iterator[Saying]:
    if outer.place.is_outside_functions:
        outer = Scope(outer.place, {})  # what a module or class defines is looked up by name, whatever the order
    if isinstance(definition, ast.ClassDef):
        yield from _sayings_in(definition.body, Scope(outer.place.inside(definition.name, definition), outer.names))
    else:
        yield from _sayings_in(definition.body, entered(definition, outer))


def _sayings(step: Step, speech: Speech) -> Iterator[Saying]:
    place, lineno = step.scope.place, step.statement.lineno
    templates = few(filter(None, map(template, speech.texts))) or (None,)
    for one in templates:
        yield Saying(
            place.module.name,
            place.function,
            lineno,
            speech.kind,
            speech.exception,
            one,
            place.module.line(lineno),
            speech.level,
            speech.via,
        )


def speeches_at(step: Step) -> Iterator[Speech]:
    """Yield what one statement says."""
    match step.statement:
        case ast.Assert():
            yield asserted(step.statement, step.scope)
        case ast.Raise(exc=ast.expr() as exception):
            yield from _raised_or_handed_on(exception, step.scope)
        case ast.Expr(value=ast.Constant()):
            return
        case ast.stmt() if isinstance(step.statement, _WITH_VALUE) and step.statement.value:
            yield from _speeches_in(step.statement.value, step.scope)


def _raised_or_handed_on(exception: ast.expr, scope: Scope) -> Iterator[Speech]:
    speeches = list(raised(exception, scope))
    if not speeches and isinstance(exception, ast.Call):
        speeches = list(_handed_on(exception, scope)) or [Speech("raise", ())]
    yield from speeches


def _speeches_in(expression: ast.expr, scope: Scope) -> Iterator[Speech]:
    for node in _open_nodes(expression):
        if isinstance(node, ast.Call):
            speech = shown(node, scope)
            yield from (speech,) if speech else _handed_on(node, scope)
        elif isinstance(node, ast.Dict) and (speech := error_body(node, scope)):
            yield speech


def _open_nodes(expression: ast.expr) -> Iterator[ast.AST]:
    """Yield the calls and mappings of an expression, those in calls' arguments too."""
    waiting: list[ast.AST] = [expression]
    while waiting:
        node = waiting.pop()
        fields = _OPEN_FIELDS.get(type(node))
        if fields is None:
            continue
        if isinstance(node, ast.Call | ast.Dict):
            yield node
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                waiting.append(node.func.value)
        for name in fields:
            inner = getattr(node, name)
            waiting.extend(inner) if isinstance(inner, list) else waiting.append(inner)


@dataclass(frozen=True)
class _Helper:
    """A function that may show what it is handed; its scope follows from the rest."""

    function: Function
    calls_deep: int
    scope: Scope = field(compare=False)


def _handed_on(call: ast.Call, scope: Scope) -> Iterator[Speech]:
    """Yield what a helper of the release shows of the texts it is handed here."""
    if scope.place.calls_deep >= MAX_CALLS_DEEP or not _hands_over_text(call, scope):
        return
    for bound in meanings(call.func, scope):
        if isinstance(bound.node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _shown_by(bound.node, bound, call, scope)


def _hands_over_text(call: ast.Call, scope: Scope) -> bool:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_looks_like_text(argument, scope) for argument in arguments)


def _looks_like_text(node: ast.expr, scope: Scope) -> bool:
    match node:
        case ast.Constant(value=str() as value):
            return " " in value
        case ast.JoinedStr() | ast.IfExp():
            return True
        case ast.BinOp(left=left, right=right):
            return _looks_like_text(left, scope) or _looks_like_text(right, scope)
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "strip")):
            return True
        case ast.Name(id=name):
            return name in scope.names and any(part in name.lower() for part in _MESSAGE_NAMES)
    return False


def _shown_by(function: Function, bound: Bound, call: ast.Call, caller: Scope) -> Iterator[Speech]:
    arguments = {name: texts(node, caller) for name, node in arguments_of(call, function).items()}
    for owner, speech in _speeches_of(_Helper(function, caller.place.calls_deep + 1, bound.scope)):
        said = few(text for own in speech.texts for text in _filled(own, owner, arguments))
        if said:
            via = speech.via or f"{bound.scope.place.module.name}:{owner}"
            yield replace(speech, texts=said, via=via)


@lru_cache(maxsize=200)
def _speeches_of(helper: _Helper) -> tuple[tuple[str, Speech], ...]:
    """Return what a helper says of its parameters, each with the qualified name that owns them."""
    outer = helper.scope.place
    deeper = Scope(Place(outer.module, outer.owner, outer.function, helper.calls_deep), helper.scope.names)
    inside = entered(helper.function, deeper)
    walk = Walk()
    walk.through(helper.function.body, inside)
    owner = inside.place.function
    speeches = (speech for step in walk.steps for speech in speeches_at(step))
    return tuple((owner, speech) for speech in dict.fromkeys(speeches) if any(_owned(t, owner) for t in speech.texts))


def _owned(text: Text, owner: str) -> set[str]:
    return {part.name for part in text if isinstance(part, Hole) and part.owner == owner}


def _filled(text: Text, owner: str, arguments: dict[str, tuple[Text, ...]]) -> Iterator[Text]:
    """Yield a helper's text with the caller's texts in it, if that tells more than the helper's own text."""
    handed = [given for name in _owned(text, owner) for given in arguments.get(name, ()) if has_literal(given)]
    if not handed or (max(map(word_count, handed)) < _FEW_WORDS <= word_count(text)):
        return
    choices: list[str | tuple[Text, ...]] = []
    for part in text:
        is_owned = isinstance(part, Hole) and part.owner == owner
        choices.append(arguments.get(part.name, ((part,),)) if isinstance(part, Hole) and is_owned else ((part,),))
    yield from concatenated(choices)
