"""``sgl-explain``: explain a message, scan logs, show, search and list entries.

Exit status: 0 when something was explained (or found), 1 when nothing was, 2 for bad usage.
"""

import argparse
import json
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sgl_explain import __version__
from sgl_explain.diagnosis import diagnose, nearest_to, scan
from sgl_explain.entry import Entry
from sgl_explain.errors import UnknownEntryError
from sgl_explain.explanation import Explanation, explanation_of
from sgl_explain.knowledge_base import bundled_knowledge
from sgl_explain.render.choose import print_explanation
from sgl_explain.render.record import json_line, record

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
    statuses = [_scan_file(name, arguments) for name in arguments.files]
    return BAD_USAGE if BAD_USAGE in statuses else min(statuses)


def _scan_file(name: str, arguments: argparse.Namespace) -> int:
    label = name if len(arguments.files) > 1 else ""
    if name == "-":
        return _tell_scan(sys.stdin, arguments.json, label)
    try:
        with Path(name).open(encoding="utf-8", errors="replace") as lines:
            return _tell_scan(lines, arguments.json, label)
    except OSError as error:
        print(f"sgl-explain: {name}: {error.strerror}", file=sys.stderr)
        return BAD_USAGE


def _tell_scan(lines: Iterable[str], as_json: bool, name: str) -> int:
    explanations = scan(lines)
    if as_json:
        found = 0
        for explanation in explanations:
            found += 1
            where = {"file": name} if name else {}
            print(json.dumps({**record(explanation), **where}, ensure_ascii=False), flush=True)
        return EXPLAINED if found else NOTHING
    return _tell_story(explanations, name)


def _tell_story(explanations: Iterable[Explanation], name: str) -> int:
    """Print each distinct failure once, as it comes; what only reports or accompanies one stands in a last line."""
    if name:
        print(f"== {name}")
    failures: Counter[tuple[object, ...]] = Counter()
    aside: dict[str | None, Explanation] = {}
    for explanation in explanations:
        if explanation.is_wrapper or explanation.is_harmless:
            aside.setdefault(explanation.id, explanation)
            continue
        key = (explanation.id, *sorted(explanation.captures.items()))
        failures[key] += 1
        if failures[key] == 1:
            _tell_one_of_many(explanation)
    if not failures:
        for explanation in aside.values():
            _tell_one_of_many(explanation)
    _tell_rest(failures, aside)
    return EXPLAINED if failures or aside else NOTHING


def _tell_one_of_many(explanation: Explanation) -> None:
    _tell(explanation, as_json=False)
    print()


def _tell_rest(failures: Counter[tuple[object, ...]], aside: dict[str | None, Explanation]) -> None:
    if not failures and not aside:
        print("Nothing in this log is explained by the knowledge base.")
        return
    if repeated := failures.total() - len(failures):
        print(f"{repeated} more of the same in this log.")
    wrappers = [item for item in aside.values() if item.is_wrapper]
    for label, items in (
        ("Consequences, not causes", wrappers),
        ("Usually harmless", [item for item in aside.values() if not item.is_wrapper]),
    ):
        if failures and items:
            told = "; ".join(f"{item.title} (line {item.line}, {item.id})" for item in items)
            print("\n".join(textwrap.wrap(f"{label}: {told}.", 80, break_on_hyphens=False)))


def _show(arguments: argparse.Namespace) -> int:
    try:
        entry = bundled_knowledge().get(arguments.id)
    except UnknownEntryError as error:
        print(f"sgl-explain: {error}", file=sys.stderr)
        return NOTHING
    _tell(explanation_of(entry), arguments.json, full=True)
    return EXPLAINED


def _search(arguments: argparse.Namespace) -> int:
    found = bundled_knowledge().search(" ".join(arguments.words))
    return _tell_list(found, arguments.json)


def _list(arguments: argparse.Namespace) -> int:
    return _tell_list(bundled_knowledge(), arguments.json)


def _tell_list(entries: Iterable[Entry], as_json: bool) -> int:
    found = 0
    for found, entry in enumerate(entries, start=1):  # noqa: B007 - counts
        print(json_line(explanation_of(entry)) if as_json else f"{entry.id}\n    {entry.title}")
    return EXPLAINED if found else NOTHING


def _tell(explanation: Explanation, as_json: bool, *, full: bool = False) -> None:
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
    commands = "".join(f"  {name:8}{about}\n" for name, about in _COMMANDS.items())
    parser.epilog = f"commands:\n{commands}\n{_EPILOG}"
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
