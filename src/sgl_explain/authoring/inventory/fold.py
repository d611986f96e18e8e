"""Folds an expression to the texts it can be, with holes for what only the run knows."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from sgl_explain.authoring.inventory.hole_names import hole_for
from sgl_explain.authoring.inventory.returns import returns
from sgl_explain.authoring.inventory.scope import Bound, Parameter, Scope, dotted, meanings
from sgl_explain.authoring.inventory.text import (
    Hole,
    Rows,
    Text,
    Value,
    combinations,
    concatenated,
    few,
    format_pieces,
    has_literal,
    percent_pieces,
    through,
    word_count,
)
from sgl_explain.authoring.inventory.walk import loop_turns

Values = tuple[Value, ...]

# What these give back reads like what they were given.
_HAND_ON = frozenset({"str", "repr", "list", "tuple", "sorted", "reversed", "cast"})
_TEXT_METHODS: dict[str, Callable[..., str]] = {
    name: getattr(str, name)
    for name in ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "expandtabs")
}
_TEXT_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "textwrap.dedent": textwrap.dedent,
    "dedent": textwrap.dedent,
    "inspect.cleandoc": inspect.cleandoc,
    "cleandoc": inspect.cleandoc,
}


def texts(expression: ast.expr, scope: Scope) -> tuple[Text, ...]:
    """Return the texts an expression can be, at least one; a bare hole if nothing is known about it."""
    return tuple(value for value in fold(expression, scope) if not isinstance(value, Rows)) or _hole(expression)


def fold(expression: ast.expr, scope: Scope) -> Values:
    """Return what an expression can be, texts or literal collections; a bare hole if nothing is known about it."""
    try:
        return _fold(expression, scope) or _hole(expression)
    except RecursionError:  # a text put together from hundreds of pieces
        return _hole(expression)


def _hole(expression: ast.expr) -> tuple[Text, ...]:
    return ((hole_for(expression),),)


def _fold(expression: ast.expr, scope: Scope) -> Values:
    """Return what an expression can be; nothing for None and for what is unknown."""
    folding = _FOLDINGS.get(type(expression))
    return few(folding(expression, scope)) if folding else ()


def _constant(node: ast.Constant, _scope: Scope) -> Values:
    return ((node.value,) if node.value else (),) if isinstance(node.value, str) else ()


def _f_string(node: ast.JoinedStr, scope: Scope) -> Values:
    return concatenated([_f_string_part(part, scope) for part in node.values])


def _f_string_part(part: ast.expr, scope: Scope) -> str | tuple[Text, ...]:
    if not isinstance(part, ast.FormattedValue):
        return str(part.value) if isinstance(part, ast.Constant) else _hole(part)
    if isinstance(part.value, ast.Constant):
        return format(part.value.value) if part.conversion == -1 else repr(part.value.value)
    folded = texts(part.value, scope)
    return tuple(map(_quoted, folded)) if part.conversion == ord("r") else folded


def _quoted(text: Text) -> Text:
    """Return the text as ``!r`` shows it; a hole stands for its own quotes."""
    return tuple(repr(part) if isinstance(part, str) else part for part in text) if len(text) == 1 else text


def _operation(node: ast.BinOp, scope: Scope) -> Values:
    if isinstance(node.op, ast.Add):
        return _sum(node, scope)
    if isinstance(node.op, ast.Mod):
        positional, named = _percent_values(node.right, scope)
        return _each(lambda text: concatenated(percent_pieces(text, positional, named)), node.left, scope)
    return ()


def _sum(node: ast.BinOp, scope: Scope) -> Values:
    pairs = combinations([fold(node.left, scope), fold(node.right, scope)])
    return tuple(_added(left, right) for left, right in pairs if _is_text(left) or _is_text(right))


def _is_text(value: Value) -> bool:
    """Say whether adding to the value joins texts; a sum of numbers is a hole like any other."""
    return isinstance(value, Rows) or any(isinstance(part, str) and not part.isdigit() for part in value)


def _is_parameter(text: Text) -> bool:
    return len(text) == 1 and isinstance(text[0], Hole) and bool(text[0].owner)


def _added(left: Value, right: Value) -> Value:
    if isinstance(left, Rows):
        return Rows(left.items + (right.items if isinstance(right, Rows) else ((right,),)))
    if isinstance(right, Rows):
        return Rows(((left,), *right.items))
    return concatenated([(left,), (right,)])[0]


def _percent_values(node: ast.expr, scope: Scope) -> tuple[tuple[tuple[Text, ...], ...], dict[str, tuple[Text, ...]]]:
    if isinstance(node, ast.Tuple):
        return tuple(texts(element, scope) for element in node.elts), {}
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        keyed = {key.value: texts(value, scope) for key, value in pairs if isinstance(key, ast.Constant)}
        return (), {key: value for key, value in keyed.items() if isinstance(key, str)}
    return (texts(node, scope),), {}


def _each(operation: Callable[[Text], tuple[Text, ...]], node: ast.expr, scope: Scope) -> Values:
    """Apply an operation to every text with a literal that the node can be; parameters stay as they are."""
    results: list[Text] = []
    for value in _fold(node, scope):
        if isinstance(value, Rows):
            continue
        if has_literal(value):
            results += operation(value)
        elif _is_parameter(value):
            results.append(value)
    return tuple(results)


def _either(node: ast.IfExp, scope: Scope) -> Values:
    return _fold(node.body, scope) + _fold(node.orelse, scope)


def _any_operand(node: ast.BoolOp, scope: Scope) -> Values:
    operands = node.values[-1:] if isinstance(node.op, ast.And) else node.values
    return tuple(value for operand in operands for value in _fold(operand, scope))


def _collection(node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Values:
    return (Rows(tuple(fold(element, scope) for element in node.elts)),)


def _mapping(node: ast.Dict, scope: Scope) -> Values:
    pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
    rows = ((Rows((fold(key, scope), fold(value, scope))),) for key, value in pairs)
    return (Rows(tuple(rows), is_mapping=True),)


def _comprehension(node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Values:
    """Return one single-item collection for each row of a literal table, or for an item that is a phrase."""
    loop = node.generators[0]
    items = [value for turn in loop_turns(loop.target, loop.iter, scope) for value in _fold(node.elt, turn)]
    phrases = [item for item in items if not isinstance(item, Rows) and word_count(item) > 1]
    return tuple(Rows(((phrase,),)) for phrase in phrases)


def _subscript(node: ast.Subscript, scope: Scope) -> Values:
    index = node.slice.value if isinstance(node.slice, ast.Constant) else None
    picked: list[Value] = []
    for value in _fold(node.value, scope):
        if isinstance(value, Rows):
            picked += _items(value, index)
    return tuple(picked)


def _items(rows: Rows, index: object) -> Iterator[Value]:
    """Yield what the collection holds at an index or key; everything it holds if that is not known."""
    if rows.is_mapping:
        for keys, values in rows.pairs():
            if index is None or (index,) in keys:
                yield from values
    elif isinstance(index, int) and -len(rows.items) <= index < len(rows.items):
        yield from rows.items[index]
    elif index is None:
        yield from (value for item in rows.items for value in item)


def _name(node: ast.Name | ast.Attribute, scope: Scope) -> Values:
    values = [value for bound in meanings(node, scope) for value in _bound(bound)]
    own_hole = hole_for(node)
    return tuple((own_hole,) if _is_anonymous(value) else value for value in values)


def _is_anonymous(value: Value) -> bool:
    """Say whether a value is nothing but holes, which the variable names better than its expression."""
    return bool(value) and not isinstance(value, Rows) and all(isinstance(p, Hole) and not p.owner for p in value)


@lru_cache(maxsize=2000)
def _bound(bound: Bound) -> Values:
    match bound.node:
        case Parameter(name=name, function=function):
            return ((Hole(name, name, function),),)
        case ast.Constant(value=int() | float() as number) if bound.scope.place.is_outside_functions:
            return ((str(number),),)  # a local number may be counted up
        case ast.Constant(value=None):
            return ()
        case ast.expr():
            return fold(bound.node, bound.scope)
    return ()


def _call(node: ast.Call, scope: Scope) -> Values:
    method = _METHODS.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Attribute) and method and (values := method(node, node.func.value, scope)):
        return values
    name = dotted(node.func)
    if name in _HAND_ON and node.args:
        return _fold(node.args[-1], scope)
    if name in _TEXT_FUNCTIONS and node.args:
        return _each(lambda text: (through(_TEXT_FUNCTIONS[name], text),), node.args[0], scope)
    return returned(node, scope)


def _joined(node: ast.Call, separator: ast.expr, scope: Scope) -> Values:
    if len(node.args) != 1:
        return ()
    joined: list[Text] = []
    for rows in _fold(node.args[0], scope):
        if isinstance(rows, Rows):
            joined += (text for glue in texts(separator, scope) for text in _glued(rows, glue))
    return tuple(joined)


def _glued(rows: Rows, glue: Text) -> tuple[Text, ...]:
    pieces: list[str | tuple[Text, ...]] = []
    for item in rows.items:
        pieces += [(glue,), tuple(value for value in item if not isinstance(value, Rows))]
    return concatenated(pieces[1:])


def _formatted(node: ast.Call, subject: ast.expr, scope: Scope) -> Values:
    positional = [texts(argument, scope) for argument in node.args]
    named = {keyword.arg: texts(keyword.value, scope) for keyword in node.keywords if keyword.arg}
    try:
        return _each(lambda text: concatenated(format_pieces(text, positional, named)), subject, scope)
    except ValueError:  # a stray brace: no format string after all
        return ()


def _picked(node: ast.Call, subject: ast.expr, scope: Scope) -> Values:
    """Return what ``mapping.get(key, default)`` can give."""
    if not node.args:
        return ()
    return _subscript(ast.Subscript(subject, node.args[0], ast.Load()), scope) + tuple(
        value for default in node.args[1:] for value in _fold(default, scope)
    )


def _altered(name: str, node: ast.Call, subject: ast.expr, scope: Scope) -> Values:
    """Return what ``text.strip()`` and its like give, their arguments being literal."""
    arguments = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    if len(arguments) != len(node.args):
        return ()
    return _each(lambda text: (through(lambda flat: _TEXT_METHODS[name](flat, *arguments), text),), subject, scope)


def returned(call: ast.Call, scope: Scope) -> Values:
    """Return what a small helper of the release gives back for this call."""
    return tuple(value for node, inside in returns(call, scope) for value in _fold(node, inside))


_METHODS: dict[str, Callable[[ast.Call, ast.expr, Scope], Values]] = {
    "join": _joined,
    "format": _formatted,
    "get": _picked,
    **{name: partial(_altered, name) for name in _TEXT_METHODS},
}
_FOLDINGS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _f_string,
    ast.BinOp: _operation,
    ast.IfExp: _either,
    ast.BoolOp: _any_operand,
    ast.List: _collection,
    ast.Tuple: _collection,
    ast.Set: _collection,
    ast.Dict: _mapping,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Subscript: _subscript,
    ast.Name: _name,
    ast.Attribute: _name,
    ast.Call: _call,
    ast.Await: lambda node, scope: _fold(node.value, scope),
    ast.NamedExpr: lambda node, scope: _fold(node.value, scope),
    ast.Starred: lambda node, scope: _fold(node.value, scope),
}
