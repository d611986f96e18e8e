"""Names for the values in a message, derived from the expressions that compute them."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable

from sgl_explain.authoring.inventory.text import Hole

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.FloorDiv: "over",
    ast.Mod: "mod",
}
# Calls that hand on what they are given, as far as a reader of the message is concerned.
_SEE_THROUGH = frozenset({"str", "repr", "list", "tuple", "set", "sorted", "int", "float", "round", "bool", "dict"})
_SEE_THROUGH_METHODS = frozenset(
    {"get", "item", "tolist", "copy", "strip", "lower", "upper", "keys", "values", "items", "cpu", "encode", "decode"}
)
_VAGUE_ATTRIBUTES = frozenset(
    {"shape", "dtype", "size", "type", "device", "ndim", "__name__", "__class__", "__qualname__"}
)
_MAX_LENGTH = 40


def hole_for(expression: ast.expr) -> Hole:
    """Return the hole that an expression of unknown value leaves in a message."""
    if isinstance(expression, ast.Name):
        return Hole(hole_name(expression), expression.id)
    return Hole(hole_name(expression), ast.unparse(expression))


def hole_name(expression: ast.expr) -> str:
    """Return an identifier that says what the expression is about."""
    name = re.sub(r"\W+|__+", "_", _words(expression)).strip("_")[:_MAX_LENGTH].strip("_")
    if not name.isidentifier():
        return "value"
    return f"{name}_" if keyword.iskeyword(name) else name


def _words(node: ast.AST) -> str:
    naming = _NAMINGS.get(type(node))
    return naming(node) if naming else ""


def _of_attribute(node: ast.Attribute) -> str:
    if node.attr in {"value", "name"} and isinstance(node.value, ast.Attribute | ast.Name) and _words(node.value):
        return _words(node.value)
    return f"{_words(node.value)}_{node.attr}" if node.attr in _VAGUE_ATTRIBUTES else node.attr


def _of_call(node: ast.Call) -> str:
    argument = _words(node.args[0]) if node.args else ""
    if isinstance(node.func, ast.Name):
        name = node.func.id
        return argument if name in _SEE_THROUGH and argument else f"{name}_{argument}"
    if not isinstance(node.func, ast.Attribute):
        return _words(node.func)
    if node.func.attr == "join":
        return argument
    if node.func.attr in _SEE_THROUGH_METHODS:
        return _words(node.func.value) or argument
    return node.func.attr


def _of_subscript(node: ast.Subscript) -> str:
    key = str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    return f"{_words(node.value)}_{key}"


def _of_operation(node: ast.BinOp) -> str:
    return f"{_words(node.left)}_{_OPERATORS.get(type(node.op), '')}_{_words(node.right)}"


def _of_comprehension(node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> str:
    return _words(node.generators[0].iter)


def _of_name(node: ast.Name) -> str:
    return "" if node.id in {"self", "cls"} else node.id


_NAMINGS: dict[type[ast.AST], Callable[..., str]] = {
    ast.Name: _of_name,
    ast.Attribute: _of_attribute,
    ast.Call: _of_call,
    ast.Subscript: _of_subscript,
    ast.BinOp: _of_operation,
    ast.GeneratorExp: _of_comprehension,
    ast.ListComp: _of_comprehension,
    ast.SetComp: _of_comprehension,
    ast.DictComp: _of_comprehension,
    ast.Constant: lambda node: str(node.value) if isinstance(node.value, int) else "",
    ast.UnaryOp: lambda node: _words(node.operand),
    ast.IfExp: lambda node: _words(node.body) or _words(node.orelse),
    ast.BoolOp: lambda node: _words(node.values[0]),
    ast.Compare: lambda node: _words(node.left),
    ast.Await: lambda node: _words(node.value),
    ast.Starred: lambda node: _words(node.value),
    ast.NamedExpr: lambda node: _words(node.target),
    ast.FormattedValue: lambda node: _words(node.value),
    ast.JoinedStr: lambda node: next(filter(None, map(_words, node.values)), ""),
}
