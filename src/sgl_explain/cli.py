"""``sgl-explain``: explain a message, scan logs, show, search and list entries.

Exit status: 0 when something was explained (or found), 1 when nothing was, 2 for bad usage.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sgl_explain import __version__
from sgl_explain.errors import UnknownEntryError

EXPLAINED: Final = 0
NOTHING: Final = 1
BAD_USAGE: Final = 2

_LONG_TEXT_CHARS: Final = 64_000
_EPILOG: Final = """\
examples:
  sgl-explain "Not enough memory. Please try to increase --mem-fraction-static."
  python -m sglang.launch_server ... 2>&1 | sgl-explain
  sgl-explain scan server.log
  sgl-explain show chunked-prefill-not-multiple-of-page
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except BrokenPipeError:
        # the reader (head, less) went away: https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXPLAINED


def _run(words: list[str]) -> int:
    command = next((word for word in words if not word.startswith("-")), None)
    if command not in _COMMANDS:
        arguments = _message_parser().parse_args(words)
        return _explain_message(arguments)
    arguments = _command_parser().parse_args(words)
    status: int = arguments.run(arguments)
    return status


def _explain_message(arguments: argparse.Namespace) -> int:
    text = _given_text(arguments.message)
    if text is None:
        _message_parser().print_usage(sys.stderr)
        print("sgl-explain: give a message, a command, or pipe a text in", file=sys.stderr)
        return BAD_USAGE
    if len(text) > _LONG_TEXT_CHARS:
        return _tell_scan(text.splitlines(), arguments.json, "")
    from sgl_explain.explanation import diagnose, nearest_to
    from sgl_explain.knowledge import bundled_knowledge

    explanation = diagnose(text)
    _tell(explanation or nearest_to(text, bundled_knowledge()), arguments.json)
    return EXPLAINED if explanation else NOTHING


def _given_text(words: list[str]) -> str | None:
    """The message as arguments, or from standard input for ``-`` or where it is piped."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _scan(arguments: argparse.Namespace) -> int:
    status = NOTHING
    for name in arguments.files:
        try:
            lines = sys.stdin if name == "-" else open(name, encoding="utf-8", errors="replace")  # noqa: SIM115 - closed below
        except OSError as error:
            print(f"sgl-explain: {name}: {error.strerror}", file=sys.stderr)
            status = BAD_USAGE
            continue
        with lines:
            found = _tell_scan(lines, arguments.json, name if len(arguments.files) > 1 else "")
        status = found if status == NOTHING else status
    return status


def _tell_scan(lines: Iterable[str], as_json: bool, name: str) -> int:
    from sgl_explain.explanation import scan
    from sgl_explain.render.record import record

    explanations = scan(lines)
    if as_json:
        found = 0
        for explanation in explanations:
            found += 1
            where = {"file": name} if name else {}
            print(json.dumps({**record(explanation), **where}, ensure_ascii=False), flush=True)
        return EXPLAINED if found else NOTHING
    return _tell_story(explanations, name)


def _tell_story(explanations: Iterator[Any], name: str) -> int:
    """Print each distinct failure once, as it comes; reports of other failures only where nothing else was found."""
    times: dict[tuple[object, ...], int] = {}
    wrappers: dict[str, Any] = {}
    if name:
        print(f"== {name}")
    for explanation in explanations:
        if explanation.is_wrapper:
            wrappers.setdefault(explanation.id, explanation)
            continue
        key = (explanation.id, *sorted(explanation.captures.items()))
        times[key] = times.get(key, 0) + 1
        if times[key] == 1:
            _tell(explanation, as_json=False)
            print()
    if not times:
        for explanation in wrappers.values():
            _tell(explanation, as_json=False)
            print()
    _tell_rest(times, wrappers)
    return EXPLAINED if times or wrappers else NOTHING


def _tell_rest(times: dict[tuple[object, ...], int], wrappers: dict[str, Any]) -> None:
    repeated = sum(count - 1 for count in times.values())
    if repeated:
        print(f"{repeated} more of the same failures in this log.")
    if times and wrappers:
        told = "; ".join(f"{item.title} (line {item.line})" for item in wrappers.values())
        print(f"Consequences, not causes: {told}.")
    if not times and not wrappers:
        print("Nothing in this log is explained by the knowledge base.")


def _show(arguments: argparse.Namespace) -> int:
    from sgl_explain.explanation import explanation_of
    from sgl_explain.knowledge import bundled_knowledge

    try:
        entry = bundled_knowledge().get(arguments.id)
    except UnknownEntryError as error:
        print(f"sgl-explain: {error}", file=sys.stderr)
        return NOTHING
    _tell(explanation_of(entry), arguments.json, full=True)
    return EXPLAINED


def _search(arguments: argparse.Namespace) -> int:
    from sgl_explain.knowledge import bundled_knowledge

    found = bundled_knowledge().search(" ".join(arguments.words))
    return _tell_list(found, arguments.json)


def _list(arguments: argparse.Namespace) -> int:
    from sgl_explain.knowledge import bundled_knowledge

    return _tell_list(bundled_knowledge(), arguments.json)


def _tell_list(entries: Iterable[Any], as_json: bool) -> int:
    from sgl_explain.explanation import explanation_of
    from sgl_explain.render.record import json_line

    found = 0
    for found, entry in enumerate(entries, start=1):  # noqa: B007 - counts
        print(json_line(explanation_of(entry)) if as_json else f"{entry.id}\n    {entry.title}")
    return EXPLAINED if found else NOTHING


def _tell(explanation: Any, as_json: bool, *, full: bool = False) -> None:
    from sgl_explain.render.choose import print_explanation
    from sgl_explain.render.record import json_line

    if as_json:
        print(json_line(explanation))
    else:
        print_explanation(explanation, sys.stdout, full=full)


_COMMANDS: Final = {
    "scan": "explain the failures in log files; - reads standard input",
    "show": "print the whole page of an entry",
    "search": "find entries by words",
    "list": "list all entries",
}


def _message_parser() -> argparse.ArgumentParser:
    parser = _parser("explain an SGLang error: its meaning, why it happened, what to type instead")
    parser.usage = "sgl-explain [--json] MESSAGE | - | {" + ",".join(_COMMANDS) + "} ..."
    parser.epilog = "commands:\n" + "".join(f"  {name:8}{help_}\n" for name, help_ in _COMMANDS.items()) + "\n" + _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("message", nargs="*", help="the error as it was seen; - or nothing reads standard input")
    parser.add_argument("--version", action="version", version=f"sgl-explain {__version__}")
    return parser


def _command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sgl-explain")
    parser.add_argument("--json", action="store_true", default=False, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run in (("scan", _scan), ("show", _show), ("search", _search), ("list", _list)):
        command = commands.add_parser(name, help=_COMMANDS[name], description=_COMMANDS[name])
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object a line")
        command.set_defaults(run=run)
        if name == "scan":
            command.add_argument("files", nargs="+", metavar="FILE", help="log files; - reads standard input")
        elif name == "show":
            command.add_argument("id", help="an entry's id or alias")
        elif name == "search":
            command.add_argument("words", nargs="+", help="words that the entry speaks of")
    return parser


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sgl-explain", description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser
