"""What a name stands for at one point of the source: locals, attributes of the class, module level, imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sgl_explain.authoring.inventory.source import Definition, Function, Imported, Module, defined_by

_MAX_IMPORT_HOPS = 5
_MAX_BASES = 12


@dataclass(frozen=True)
class Place:
    """The function a statement stands in, and how many calls deep it was followed there."""

    module: Module
    owner: ast.ClassDef | None = None
    function: str = ""
    calls_deep: int = 0

    @property
    def is_outside_functions(self) -> bool:
        """Say whether this is the top level of a module or a class."""
        return self.function == (self.owner.name if self.owner else "")

    def inside(self, name: str, owner: ast.ClassDef | None = None) -> Place:
        """Return the place one function or class further in."""
        path = f"{self.function}.{name}" if self.function else name
        return Place(self.module, owner or self.owner, path, self.calls_deep)


@dataclass(frozen=True)
class Parameter:
    """A parameter whose argument is not known."""

    name: str
    function: str


@dataclass(frozen=True, eq=False)
class Bound:
    """What was bound to a name: a definition, and the scope to read it in."""

    node: Definition | Imported | Parameter
    scope: Scope


Names = Mapping[str, tuple[Bound, ...]]


@dataclass(frozen=True, eq=False)
class Scope:
    """The local names at one statement. Never changed: binding a name gives a new scope."""

    place: Place
    names: Names

    def binding(self, name: str, *bounds: Bound) -> Scope:
        """Return the scope in which the name stands for one of these."""
        return Scope(self.place, {**self.names, name: bounds})

    def forgetting(self, name: str) -> Scope:
        """Return the scope in which nothing is known about the name."""
        if name not in self.names and name not in self.place.module.definitions:
            return self
        return self.binding(name)


def either(first: Scope | None, second: Scope | None) -> Scope | None:
    """Return the scope after two branches meet; None is a branch that does not get there."""
    if first is None or second is None or first.names is second.names:
        return first or second
    names = {**second.names, **first.names}
    for name in first.names.keys() & second.names.keys():
        if first.names[name] is not second.names[name]:
            names[name] = tuple(dict.fromkeys(first.names[name] + second.names[name]))
    return Scope(first.place, names)


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` for a chain of attributes that starts at a name, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


def meanings(node: ast.expr, scope: Scope) -> tuple[Bound, ...]:
    """Return what a name or an attribute can stand for here, as far as the source tells."""
    path = dotted(node)
    if path and path in scope.names:
        return tuple(_imports_followed(scope.names[path]))
    if isinstance(node, ast.Name):
        return found(scope.place.module, node.id)
    if isinstance(node, ast.Attribute):
        return _attribute(node, scope)
    return ()


def _attribute(node: ast.Attribute, scope: Scope) -> tuple[Bound, ...]:
    owner, module = scope.place.owner, scope.place.module
    if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
        return member(owner, node.attr, module) if owner else ()
    if isinstance(node.value, ast.Call) and dotted(node.value.func) == "super":
        return _inherited(owner, node.attr, module, _MAX_BASES) if owner else ()
    for bound in meanings(node.value, scope):
        if isinstance(bound.node, ast.ClassDef):
            return member(bound.node, node.attr, bound.scope.place.module)
        if isinstance(bound.node, Imported) and (named := module.find_module(bound.node.module)):
            return found(named, node.attr)
    return ()


def found(module: Module, name: str, hops: int = _MAX_IMPORT_HOPS) -> tuple[Bound, ...]:
    """Return what a name of a module's top level stands for, followed through imports inside the release."""
    if name in module.definitions:
        scope = Scope(Place(module), {})
        lasting = (Bound(node, scope) for node in module.definitions[name] if _lasts(name, node))
        return tuple(_imports_followed(lasting, hops))
    for origin in module.star_imports if hops else ():
        starred = module.find_module(origin)
        if starred and (bounds := found(starred, name, hops - 1)):
            return bounds
    return ()


def _lasts(name: str, node: Definition | Imported) -> bool:
    """Say whether a name still stands for this at run time; numbers and words are but defaults unless in capitals."""
    if not isinstance(node, ast.Constant) or name.isupper():
        return True
    return isinstance(node.value, str) and " " in node.value


def _imports_followed(bounds: Iterator[Bound] | tuple[Bound, ...], hops: int = _MAX_IMPORT_HOPS) -> Iterator[Bound]:
    for bound in bounds:
        if isinstance(bound.node, Imported) and bound.node.name is not None and hops:
            yield from _imported(bound.node.module, bound.node.name, bound.scope, hops - 1)
        else:
            yield bound


def _imported(module_name: str, name: str, scope: Scope, hops: int) -> tuple[Bound, ...]:
    if not module_name.startswith("sglang"):
        return ()
    module = scope.place.module.find_module(module_name)
    if module and (bounds := found(module, name, hops)):
        return bounds
    return (Bound(Imported(f"{module_name}.{name}", None), scope),)  # a submodule, if anything


def member(owner: ast.ClassDef, name: str, module: Module) -> tuple[Bound, ...]:
    """Return a class's attribute or method, its own or inherited from a class of the release."""
    return _member(owner, name, module, _MAX_BASES)


def _member(owner: ast.ClassDef, name: str, module: Module, bases_left: int) -> tuple[Bound, ...]:
    if name in (defined := _class_body(owner, module)):
        scope = Scope(Place(module, owner, owner.name), {})
        return tuple(Bound(node, scope) for node in defined[name] if _lasts(name, node))
    return _inherited(owner, name, module, bases_left)


def _inherited(owner: ast.ClassDef, name: str, module: Module, bases_left: int) -> tuple[Bound, ...]:
    scope = Scope(Place(module), {})
    for base in owner.bases if bases_left else ():
        for bound in meanings(base, scope):
            if isinstance(bound.node, ast.ClassDef) and bound.node is not owner:
                bounds = _member(bound.node, name, bound.scope.place.module, bases_left - 1)
                if bounds:
                    return bounds
    return ()


@lru_cache(maxsize=200)
def _class_body(owner: ast.ClassDef, module: Module) -> dict[str, tuple[Definition | Imported, ...]]:
    defined: dict[str, tuple[Definition | Imported, ...]] = {}
    for statement in owner.body:
        for name, node in defined_by(statement, module):
            defined[name] = (*defined.get(name, ()), node)
    return defined


def parameters(function: Function) -> tuple[str, ...]:
    """Return the names of a function's parameters in the order arguments fill them."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return tuple(argument.arg for argument in every if argument)


def entered(function: Function, scope: Scope) -> Scope:
    """Return the scope at the first statement of a function defined in this one, its arguments unknown."""
    place = scope.place.inside(function.name)
    unknown = {name: (Bound(Parameter(name, place.function), scope),) for name in parameters(function)}
    return Scope(place, {**scope.names, **unknown})


def called(function: Function, scope: Scope, call: ast.Call, caller: Scope) -> Scope:
    """Return the scope at the first statement of a function for one particular call."""
    inside = entered(function, scope)
    given = {name: (Bound(node, caller),) for name, node in arguments_of(call, function).items()}
    defaults = {name: (Bound(node, scope),) for name, node in _defaults(function).items() if name not in given}
    place = inside.place
    deeper = Place(place.module, place.owner, place.function, caller.place.calls_deep + 1)
    return Scope(deeper, {**inside.names, **defaults, **given})


def arguments_of(call: ast.Call, function: Function) -> dict[str, ast.expr]:
    """Return the argument each parameter gets; what is passed by ``*`` or ``**`` is left out."""
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    given: dict[str, ast.expr] = {}
    for name, node in zip(names, call.args, strict=False):
        if isinstance(node, ast.Starred):
            break
        given[name] = node
    return given | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _defaults(function: Function) -> dict[str, ast.expr]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *(
            (name, default)
            for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default
        ),
    ]
    return {argument.arg: default for argument, default in pairs}
