"""What the small helpers of a release give back when they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sgl_explain.authoring.inventory.scope import Scope, called, meanings
from sgl_explain.authoring.inventory.source import Function
from sgl_explain.authoring.inventory.walk import Walk

MAX_CALLS_DEEP = 3
_MAX_HELPER_LINES = 120


def returns(call: ast.Call, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the expressions a helper of the release returns for this call, each with the scope it stands in."""
    if scope.place.calls_deep >= MAX_CALLS_DEEP:
        return
    for bound in meanings(call.func, scope):
        if isinstance(bound.node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_small(bound.node):
            walk = Walk()
            walk.through(bound.node.body, called(bound.node, bound.scope, call, scope))
            for step in walk.steps:
                if isinstance(step.statement, ast.Return) and step.statement.value:
                    yield step.statement.value, step.scope


def _is_small(function: Function) -> bool:
    return (function.end_lineno or 0) - function.lineno < _MAX_HELPER_LINES
