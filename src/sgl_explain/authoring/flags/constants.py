"""The values of constant expressions in SGLang's source, worked out without running it.

A declaration's choices and defaults are mostly literals, but also names of other modules' constants,
``list(TABLE.keys())``, members of an enumeration, or a helper that returns a list. Everything else is not constant.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from sgl_explain.authoring.inventory.source import Definition, Imported, Module, absolute

_MAX_HOPS: Final = 30
_MAX_IMPORT_HOPS: Final = 6
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.LShift: operator.lshift,
}  # fmt: skip
_SEQUENCES: Final = ("list", "tuple", "set", "frozenset")
_FIELD_MAKERS: Final = ("field", "dataclasses.field", "msgspec.field")
_EMPTY: Final[Mapping[str, object]] = {"list": [], "set": [], "dict": {}}


class NotConstantError(Exception):
    """An expression's value cannot be told from the source."""


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its module, the values of local names, and the defaults of the flags' fields."""

    module: Module
    names: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    hops: int = _MAX_HOPS

    def at(self, module: Module, names: Mapping[str, object] | None = None) -> "Place":
        """Return the place in another module, one hop further on."""
        return replace(self, module=module, names=names or {}, hops=self.hops - 1)


def defined(module: Module | None, name: str, hops: int = _MAX_IMPORT_HOPS) -> tuple[Module, Definition] | None:
    """Return the definition of a name and its module, followed through imports, also those inside functions."""
    if module is None or hops < 0:
        return None
    definition = module.definitions.get(name, (None,))[-1] or _imports_anywhere(module).get(name)
    if isinstance(definition, Imported):
        return defined(module.find_module(definition.module), definition.name or "", hops - 1)
    if definition is not None:
        return module, definition
    starred = (defined(module.find_module(origin), name, hops - 1) for origin in module.star_imports)
    return next((found for found in starred if found), None)


@lru_cache(maxsize=64)
def _imports_anywhere(module: Module) -> dict[str, Imported]:
    statements = [node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: Imported(absolute(statement, module), alias.name)
        for statement in statements
        for alias in statement.names
    }


def constant(node: ast.expr, place: Place) -> Any:
    """Return the value of an expression, sequences and sets as lists; raises NotConstantError if it has none."""
    if place.hops < 0:
        raise NotConstantError
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [value for item in items for value in _items(item, place)]
        case ast.Dict(keys=keys, values=values):
            return _table(keys, values, place)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -constant(operand, place)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _combined(type(sign), constant(left, place), constant(right, place))
        case _:
            return _referred(node, place)


def _referred(node: ast.expr, place: Place) -> Any:
    """The value of an expression that leads elsewhere: to a name's definition, a class, a function's returns."""
    match node:
        case ast.Name(id=name):
            return _named(name, place)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return _member(owner, name, place)
        case ast.Call():
            return _called(node, place)
        case ast.ListComp(elt=ast.expr() as told, generators=[ast.comprehension(iter=source)]):
            return _members_told(told, source, place)
        case _:
            raise NotConstantError


def _items(item: ast.expr, place: Place) -> list[Any]:
    return list(constant(item.value, place)) if isinstance(item, ast.Starred) else [constant(item, place)]


def _table(keys: list[ast.expr | None], values: list[ast.expr], place: Place) -> dict[Any, Any]:
    """A mapping; values that are no constants, such as classes, are None: most are registries asked for their keys."""
    if None in keys:
        raise NotConstantError
    return {constant(key, place): _or_none(value, place) for key, value in zip(keys, values, strict=True) if key}


def _or_none(node: ast.expr, place: Place) -> Any:
    try:
        return constant(node, place)
    except NotConstantError:
        return None


def _combined(sign: type[ast.operator], left: Any, right: Any) -> Any:
    try:
        return _OPERATORS[sign](left, right)
    except (TypeError, ArithmeticError):
        raise NotConstantError from None


def _named(name: str, place: Place) -> Any:
    if name in place.names:
        return place.names[name]
    found = defined(place.module, name)
    if found is None or not isinstance(found[1], ast.expr):
        raise NotConstantError
    return constant(found[1], place.at(found[0]))


def _member(owner: str, name: str, place: Place) -> Any:
    """A field's default, or a class attribute (which may use the attributes beside it)."""
    if owner == "ServerArgs" and name in place.defaults:
        return place.defaults[name]
    module, definition = defined(place.module, owner) or (place.module, None)
    if isinstance(definition, ast.ClassDef):
        attributes = dict(_attributes(definition))
        if name in attributes:
            siblings = {key: value.value for key, value in attributes.items() if isinstance(value, ast.Constant)}
            return constant(attributes[name], place.at(module, siblings))
    raise NotConstantError


def _attributes(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for statement in owner.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _called(call: ast.Call, place: Place) -> Any:
    match call:
        case ast.Call(func=ast.Name(id="sorted"), args=[of]):
            return sorted(constant(of, place))
        case ast.Call(func=ast.Name(id=name), args=[of]) if name in _SEQUENCES:
            return list(constant(of, place))
        case ast.Call(func=ast.Attribute(value=of, attr="keys"), args=[]):
            return list(constant(of, place))
        case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=str() as name), *_]):
            return _member("ServerArgs", name, place)
        case ast.Call(func=maker) if ast.unparse(maker) in _FIELD_MAKERS:
            return _field_default(call, place)
        case ast.Call(func=ast.Name(id=name), args=[]):
            return _returned(name, place)
        case _:
            raise NotConstantError


def _field_default(call: ast.Call, place: Place) -> Any:
    for keyword in call.keywords:
        if keyword.arg == "default":
            return constant(keyword.value, place)
        if keyword.arg == "default_factory" and ast.unparse(keyword.value) in _EMPTY:
            return _EMPTY[ast.unparse(keyword.value)]
    raise NotConstantError


def _returned(name: str, place: Place) -> Any:
    """The first constant that a helper without arguments can return."""
    module, values = _returns(name, place)
    for value in values:
        told = _or_none(value, place.at(module))
        if told is not None:
            return told
    raise NotConstantError


def _returns(name: str, place: Place) -> tuple[Module, list[ast.expr]]:
    module, definition = defined(place.module, name) or (place.module, None)
    if not isinstance(definition, ast.FunctionDef):
        raise NotConstantError
    found = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value]
    return module, found


def _members_told(told: ast.expr, source: ast.expr, place: Place) -> list[Any]:
    """``[member.name.lower() for member in Enumeration]``, also through a helper that returns the enumeration."""
    module, enumeration = _enumeration(source, place)
    members = list(_attributes(enumeration))
    match told:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="name"), attr="lower")):
            return [name.lower() for name, _ in members]
        case ast.Attribute(attr="name"):
            return [name for name, _ in members]
        case ast.Attribute(attr="value"):
            return [constant(value, place.at(module)) for _, value in members]
        case _:
            raise NotConstantError


def _enumeration(source: ast.expr, place: Place) -> tuple[Module, ast.ClassDef]:
    module, values = place.module, [source]
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
        module, values = _returns(source.func.id, place)
    nodes = (node for value in values for node in ast.walk(value) if isinstance(node, ast.Name))
    name = next((node.id for node in nodes if node.id not in _SEQUENCES), "")
    found = defined(module, name)
    if found is None or not isinstance(found[1], ast.ClassDef):
        raise NotConstantError
    return found[0], found[1]
