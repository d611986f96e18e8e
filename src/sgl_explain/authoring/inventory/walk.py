"""Follows the statements of a function and tells, at each, what its local names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sgl_explain.authoring.inventory.scope import Bound, Scope, dotted, either, meanings
from sgl_explain.authoring.inventory.source import Function, defined_by
from sgl_explain.authoring.inventory.text import MAX_ALTERNATIVES

# Anything else an assignment can hold is no text, nor a container of texts.
_MAY_HOLD_TEXT = (
    ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call, ast.IfExp, ast.BoolOp, ast.Name, ast.Attribute, ast.Subscript,
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.Await, ast.NamedExpr,
)  # fmt: skip
_LEAVING = (ast.Raise, ast.Return, ast.Break, ast.Continue)
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))  # TryStar: since Python 3.11, with the fields of Try
_MAX_LOOKUPS = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and the scope in which it runs. A compound one stands for its head alone."""

    statement: ast.stmt
    scope: Scope


@dataclass(slots=True)
class Walk:
    """The steps of one body, in source order; a loop over a literal table gives the steps of each row."""

    steps: list[Step] = field(default_factory=list)
    inner: list[tuple[Function | ast.ClassDef, Scope]] = field(default_factory=list)
    """Functions and classes defined in the body, with the scope they are defined in."""
    _loop_exits: list[Scope] = field(default_factory=list)

    def through(self, body: Iterable[ast.stmt], scope: Scope | None) -> Scope | None:
        """Walk a body and return the scope after it, or None if it never ends."""
        before, after = scope, scope
        for statement in body:
            before = after or before  # what no run reaches is listed all the same
            if before is None:
                return None
            after = self._one(statement, before)
        return after

    def _one(self, statement: ast.stmt, scope: Scope) -> Scope | None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.inner.append((statement, scope))
                return scope.binding(statement.name, Bound(statement, scope))
            case ast.Import() | ast.ImportFrom():
                return _importing(statement, scope)
        self.steps.append(Step(statement, scope))
        if isinstance(statement, _LEAVING):
            if isinstance(statement, ast.Break | ast.Continue):
                self._loop_exits.append(scope)
            return None
        if isinstance(statement, ast.Match):
            return self._match(statement, scope)
        return self._compound(statement, scope) if hasattr(statement, "body") else _after_simple(statement, scope)

    def _compound(self, statement: ast.stmt, scope: Scope) -> Scope | None:
        match statement:
            case ast.If():
                return either(self.through(statement.body, scope), self.through(statement.orelse, scope))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(statement, scope)
            case ast.With() | ast.AsyncWith():
                return self.through(statement.body, scope)
        return self._try(statement, scope) if isinstance(statement, _TRY) else scope

    def _match(self, statement: ast.Match, scope: Scope) -> Scope | None:
        return _any_of([scope, *(self.through(case.body, scope) for case in statement.cases)])

    def _loop(self, loop: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> Scope | None:
        outer, self._loop_exits = self._loop_exits, []
        turns = [scope] if isinstance(loop, ast.While) else loop_turns(loop.target, loop.iter, scope)
        ends = [self.through(loop.body, turn) for turn in turns]
        after = _any_of([scope, *ends, *self._loop_exits])
        self._loop_exits = outer
        return self.through(loop.orelse, after) if loop.orelse else after

    def _try(self, statement: ast.Try, scope: Scope) -> Scope | None:
        tried = self.through(statement.body, scope)
        interrupted = either(scope, tried) or scope
        handled = [self.through(handler.body, interrupted) for handler in statement.handlers]
        after = _any_of([self.through(statement.orelse, tried), *handled])
        ended = self.through(statement.finalbody, after or interrupted)
        return ended if after else None


def _any_of(scopes: Iterable[Scope | None]) -> Scope | None:
    together: Scope | None = None
    for scope in scopes:
        together = either(together, scope)
    return together


def _importing(statement: ast.Import | ast.ImportFrom, scope: Scope) -> Scope:
    for name, node in defined_by(statement, scope.place.module):
        scope = scope.binding(name, Bound(node, scope))
    return scope


def _after_simple(statement: ast.stmt, scope: Scope) -> Scope:
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                scope = assigned(target, value, scope, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            scope = assigned(target, value, scope, scope)
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=ast.Add(), value=value):
            scope = _extended(target, value, scope)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="append"), args=[value])):
            scope = _extended(target, ast.List([value], ast.Load()), scope)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="extend"), args=[value])):
            scope = _extended(target, value, scope)
    return scope


def _extended(target: ast.expr, value: ast.expr, scope: Scope) -> Scope:
    """Return the scope after ``target += value``, if anything is known about the target."""
    name = dotted(target)
    if name not in scope.names:
        return scope
    return scope.binding(name, Bound(ast.BinOp(target, ast.Add(), value), scope))


def assigned(target: ast.expr, value: ast.expr, scope: Scope, value_scope: Scope) -> Scope:
    """Return the scope after an assignment; tuples are taken apart."""
    if isinstance(target, ast.Tuple | ast.List):
        for index, element in enumerate(target.elts):
            scope = assigned(element, _item(value, index), scope, value_scope)
        return scope
    name = dotted(target)
    if not name:
        return scope
    if isinstance(value, _MAY_HOLD_TEXT):
        return scope.binding(name, Bound(value, value_scope))
    return scope.forgetting(name)


def _item(value: ast.expr, index: int) -> ast.expr:
    if isinstance(value, ast.Tuple | ast.List) and index < len(value.elts):
        return value.elts[index]
    return ast.Subscript(value, ast.Constant(index), ast.Load())


def loop_turns(target: ast.expr, iterable: ast.expr, scope: Scope) -> list[Scope]:
    """Return the scope of each turn of a loop over a literal table with text in it, else of one unknown turn."""
    rows = list(_rows(iterable, scope, _MAX_LOOKUPS))
    if rows and any(_has_text(row.node) for row in rows):
        return [_turn(target, row, scope) for row in rows[:MAX_ALTERNATIVES]]
    return [_forgotten(target, scope)]


def _turn(target: ast.expr, row: Bound, scope: Scope) -> Scope:
    return assigned(target, row.node, scope, row.scope) if isinstance(row.node, ast.expr) else scope


def _forgotten(target: ast.expr, scope: Scope) -> Scope:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            scope = scope.forgetting(node.id)
    return scope


def _has_text(node: object) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return any(map(_has_text, node.elts))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _rows(node: ast.expr, scope: Scope, lookups_left: int) -> Iterator[Bound]:
    """Yield the items of a literal list, tuple, set or mapping, wherever it was written down."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            yield from (Bound(item, scope) for item in items)
        case ast.Call(func=ast.Attribute(value=mapping, attr="items" | "keys" | "values" as part), args=[]):
            yield from _mapping_rows(mapping, part, scope, lookups_left)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "reversed"), args=[inner]):
            yield from _rows(inner, scope, lookups_left)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _rows(left, scope, lookups_left)
            yield from _rows(right, scope, lookups_left)
        case ast.Name() | ast.Attribute() if lookups_left:
            for bound in meanings(node, scope):
                if isinstance(bound.node, ast.expr):
                    yield from _rows(bound.node, bound.scope, lookups_left - 1)


def _mapping_rows(node: ast.expr, part: str, scope: Scope, lookups_left: int) -> Iterator[Bound]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    row = {"items": ast.Tuple([key, value], ast.Load()), "keys": key, "values": value}[part]
                    yield Bound(row, scope)
        case ast.Name() | ast.Attribute() if lookups_left:
            for bound in meanings(node, scope):
                if isinstance(bound.node, ast.expr):
                    yield from _mapping_rows(bound.node, part, bound.scope, lookups_left - 1)
