"""The server flags that one SGLang release declares, read from its source alone.

Three layouts are read: ``parser.add_argument(…)`` in ``ServerArgs.add_cli_args`` (every release), annotated fields
``name: A[type, Arg(…)] = default`` of ``ServerArgs`` (0.5.15 to 0.5.20), and the same fields in the classes with a
``_NS_PATH`` under ``srt/arg_groups/fields`` (0.5.23).
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sgl_explain.authoring.flags.constants import NotConstantError, Place, constant, defined
from sgl_explain.authoring.inventory.source import Module, Release
from sgl_explain.flags import Takes

_TELLING: Final = ("new_flag", "error_message", "help")  # surest first
SERVER_ARGS: Final = "sglang.srt.server_args"
FIELDS: Final = "sglang.srt.arg_groups.fields."
CLIENTS: Final = ("sglang.benchmark.serving", "sglang.bench_serving")
_SWITCH_ACTIONS: Final = (
    "store_true", "store_false", "store_const", "BooleanOptionalAction",
    "DeprecatedAction", "DeprecatedStoreTrueAction", "DeprecatedStoreConstAction",
)  # fmt: skip


class NotKnown:
    """Stands for a default that cannot be told from the source."""

    def __repr__(self) -> str:
        return "NOT_KNOWN"


NOT_KNOWN: Final = NotKnown()
NOT_GIVEN: Final = object()


@dataclass(frozen=True, slots=True)
class DeclaredFlag:
    """A flag as one release declares it: its spellings, the main one first, and what it takes.

    ``said`` is what its declaration tells a person of it: the successor it names, its help, the error it ends in.
    """

    names: tuple[str, ...]
    field: str
    takes: Takes = "value"
    choices: tuple[object, ...] | None = None
    default: object = NOT_KNOWN
    said: tuple[str, ...] = ()


def client_flags(release: Release) -> tuple[DeclaredFlag, ...]:
    """Return the flags of the serving benchmark, SGLang's other much used program; none if the release has none."""
    for name in CLIENTS:
        module = release.find_module(name)
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)] if module else []
        if module and (flags := tuple(_flags_added(calls, Place(module)))):
            return flags
    return ()


def _flags_added(calls: Iterable[ast.Call], place: Place) -> Iterator[DeclaredFlag]:
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str() as name), *_]):
                if name.startswith("--"):
                    yield _added_flag(call, place)


def declared_flags(release: Release) -> tuple[DeclaredFlag, ...]:
    """Return the server flags of a release, in the order of its source.

    Raises ValueError if the release has no ``sglang.srt.server_args`` with a class ``ServerArgs``.
    """
    classes = list(_argument_classes(release))
    if not classes:
        raise ValueError(f"no class ServerArgs in {SERVER_ARGS}")
    defaults = dict(_defaults(classes))
    places = [(Place(module, {}, defaults), owner) for module, owner in classes]
    fields = [flag for place, owner in places for flag in _field_flags(owner, place)]
    return (*fields, *_added_flags(classes[0][1], places[0][0]))


def _argument_classes(release: Release) -> Iterator[tuple[Module, ast.ClassDef]]:
    """``ServerArgs``, and the classes that hold its fields by subject."""
    for name in (SERVER_ARGS, *sorted(name for name in release.module_names if name.startswith(FIELDS))):
        module = release.find_module(name)
        if module is None:
            continue
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and (node.name == "ServerArgs" or _has_namespace(node)):
                yield module, node


def _has_namespace(owner: ast.ClassDef) -> bool:
    return any(
        isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_NS_PATH"
        for statement in owner.body
    )


def _fields(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    for statement in owner.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.annotation, statement.value


def _defaults(classes: Iterable[tuple[Module, ast.ClassDef]]) -> Iterator[tuple[str, object]]:
    for module, owner in classes:
        for name, _, value in _fields(owner):
            default = _known(value, Place(module))
            if value is not None and default is not NOT_KNOWN:
                yield name, default


def _known(node: ast.expr | None, place: Place) -> Any:
    """The value of an expression: None where there is none, NOT_KNOWN where it cannot be told."""
    try:
        return constant(node, place) if node is not None else None
    except NotConstantError:
        return NOT_KNOWN


def _choices(node: ast.expr | None, place: Place) -> tuple[object, ...] | None:
    value = _known(node, place)
    return tuple(value) if isinstance(value, list) else None


def _nargs(options: Mapping[str, ast.expr], place: Place) -> object:
    return _known(options["nargs"], place) if "nargs" in options else NOT_GIVEN


def _last_name(node: ast.expr | None) -> str:
    return ast.unparse(node).rpartition(".")[2] if node is not None else ""


def _action(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else _last_name(node)


def _said(options: Mapping[str, ast.expr], place: Place) -> tuple[str, ...]:
    texts = (_known(options.get(name), place) for name in _TELLING)
    return tuple(text for text in texts if isinstance(text, str))


def _finished(flag: DeclaredFlag, action: str, nargs: object) -> DeclaredFlag:
    """What follows from the action and the number of words: the kind, the negative spellings, a switch's default.

    ``nargs`` is NOT_GIVEN where the declaration leaves it to the action.
    """
    is_switch = action in _SWITCH_ACTIONS and nargs in (NOT_GIVEN, 0)
    default = False if action == "DeprecatedStoreTrueAction" and flag.default is None else flag.default
    names = flag.names
    if action == "BooleanOptionalAction":
        names += tuple(f"--no-{name[2:]}" for name in names if not name.startswith("--no-"))
    takes: Takes = "nothing" if is_switch else "values" if nargs in ("+", "*") or isinstance(nargs, int) else "value"
    return replace(flag, names=names, takes=takes, default=default)


# --- annotated fields -------------------------------------------------------------------------------------------


def _field_flags(owner: ast.ClassDef, place: Place) -> Iterator[DeclaredFlag]:
    for name, annotation, value in _fields(owner):
        match annotation:
            case ast.Subscript(value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[kind, *rest])):
                options = _options(rest, place)
                if options is not None:
                    yield _field_flag(name, kind, options, value, place)


def _options(annotations: Iterable[ast.expr], place: Place) -> Mapping[str, ast.expr] | None:
    """The keyword arguments of a field's ``Arg(…)``, none for a plain help text; None if the field is no flag."""
    options: Mapping[str, ast.expr] | None = None
    for node in annotations:
        match node:
            case ast.Call(func=maker) if _last_name(maker) == "Derived":
                return None
            case ast.Call(func=maker, keywords=keywords) if _last_name(maker) == "Arg" and options is None:
                options = {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
            case _ if options is None and (isinstance(node, ast.JoinedStr) or isinstance(_known(node, place), str)):
                options = {"help": node}
    return None if options is None or _known(options.get("no_cli"), place) is True else options


def _field_flag(
    name: str, annotation: ast.expr, options: Mapping[str, ast.expr], value: ast.expr | None, place: Place
) -> DeclaredFlag:
    main = _known(options.get("cli_name"), place) or f"--{name.replace('_', '-')}"
    names = (main, *(_known(options.get("aliases"), place) or ()))
    extra = {**options, **_action_options(options.get("action_kwargs"))}
    choices = _choices(extra.get("choices"), place)
    flag = DeclaredFlag(names, name, "value", choices, _known(value, place), _said(extra, place))
    if "default" in extra:
        flag = replace(flag, default=_known(extra["default"], place))
    nargs = _nargs(extra, place)
    if "action" in options:
        return _finished(flag, _action(options["action"]), nargs)
    kind = _resolved_kind(annotation, place.module)
    match _last_name(kind.value if isinstance(kind, ast.Subscript) else kind):
        case "Literal" if isinstance(kind, ast.Subscript):
            return replace(flag, choices=flag.choices or _choices(_literals(kind), place))
        case "List" | "list" if "type_parser" not in options:
            return _finished(flag, "", "+" if nargs in (NOT_GIVEN, None) else nargs)
        case "bool":
            return _finished(flag, "store_true", nargs)
        case _:
            return _finished(flag, "", nargs)


def _action_options(node: ast.expr | None) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _resolved_kind(node: ast.expr, module: Module) -> ast.expr:
    """A field's type without its ``None``, a name for a type replaced by what it stands for."""
    kind = _without_none(node)
    found = defined(module, kind.id) if isinstance(kind, ast.Name) else None
    return found[1] if found and isinstance(found[1], ast.Subscript) else kind


def _without_none(node: ast.expr) -> ast.expr:
    match node:
        case ast.Subscript(value=of, slice=inner) if _last_name(of) == "Optional":
            return _without_none(inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _without_none(left)
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return _without_none(right)
        case _:
            return node


def _literals(kind: ast.Subscript) -> ast.expr:
    return kind.slice if isinstance(kind.slice, ast.Tuple) else ast.List([kind.slice])


# --- parser.add_argument ----------------------------------------------------------------------------------------


def _added_flags(owner: ast.ClassDef, place: Place) -> Iterator[DeclaredFlag]:
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == "add_cli_args":
            yield from _added_in(method.body, place)


def _added_in(body: Iterable[ast.stmt], place: Place) -> Iterator[DeclaredFlag]:
    names = dict(place.names)
    for statement in body:
        here = replace(place, names=names)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _known(value, here) is not NOT_KNOWN:
                names[name] = _known(value, here)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument")) as call):
                yield _added_flag(call, here)
            case ast.If() | ast.For() | ast.With():
                yield from _added_in((*statement.body, *getattr(statement, "orelse", ())), here)


def _added_flag(call: ast.Call, place: Place) -> DeclaredFlag:
    options = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    names = tuple(_known(node, place) for node in call.args)
    field = _known(options.get("dest"), place) or names[0].lstrip("-").replace("-", "_")
    action = _action(options.get("action"))
    default = False if action == "store_true" and "default" not in options else _known(options.get("default"), place)
    choices = _choices(options.get("choices"), place)
    flag = DeclaredFlag(names, field, "value", choices, default, _said(options, place))
    return _finished(flag, action, _nargs(options, place))
