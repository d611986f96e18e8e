"""``sgl-explain``: explain a message, scan logs, run a command, show, search and list entries.

Exit status: 0 when something was explained (or found), 1 when nothing was, 2 for bad usage and for what could not be
read or written, 130 after Ctrl-C; of ``run``, the command's.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from sgl_explain import __version__
from sgl_explain.cli.scanning import EXPLAINED, NOTHING, scan_logs
from sgl_explain.cli.streams import (
    CannotReadError,
    complain,
    give_up_writing,
    is_open,
    prepare_streams,
    print_json,
    reading,
    standard_input,
)
from sgl_explain.cli.tellers import TELLER_BY_FORMAT, Log
from sgl_explain.diagnosis import diagnose, nearest_to, scan
from sgl_explain.entry import Entry
from sgl_explain.errors import UnknownEntryError
from sgl_explain.explanation import Explanation, explanation_of
from sgl_explain.knowledge_base import bundled_knowledge
from sgl_explain.render.choose import print_explanation
from sgl_explain.render.record import json_line

INTERRUPTED: Final = 130

_LONG_TEXT_CHARS: Final = 64_000
_RULE: Final = """\
Options stand before the message (--json also after it). From its first word on, all is message, flags of
SGLang included; after -- it may even begin with the name of a command or of an option.
"""
_RUN_RULE: Final = """\
The exit status is the command's; 128 + n if signal n ended it, 126 if it cannot be run, 127 if it is not found.
"""
_EPILOG: Final = """\
examples:
  sgl-explain "Not enough memory. Please try to increase --mem-fraction-static."
  python -m sglang.launch_server ... 2>&1 | sgl-explain
  sgl-explain scan server.log
  sgl-explain run -- python -m sglang.launch_server ...
  sgl-explain show chunked-prefill-size-not-multiple-of-page-size
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    if not is_open(sys.stdout):
        return complain("cannot write: standard output is closed")
    try:
        return _run_and_flush(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except CannotReadError as error:
        return complain(str(error))
    except OSError as error:
        if error.filename is not None:  # not about a stream, so about our own files
            raise
        return give_up_writing(error)


def _run_and_flush(words: list[str]) -> int:
    try:
        return _run(words)
    finally:
        sys.stdout.flush()


def _run(words: list[str]) -> int:
    """Split options from what follows; a message begins with its first word, whatever that looks like."""
    if len(words) > 1 and words[-1] == "--json" and "--" not in words:
        words = ["--json", *words[:-1]]
    options = list(takewhile(_OPTIONS.__contains__, words))
    rest = words[len(options) :]
    as_json: bool = _message_parser().parse_args(options).json
    if not rest or rest[0] not in _COMMANDS:
        return _explain_message(rest[1:] if rest[:1] == ["--"] else rest, as_json)

    ours, command = _split_command(rest) if rest[0] == "run" else (rest, [])
    words_of_ours = ["--json", *ours] if as_json else ours
    arguments = _command_parser().parse_args(words_of_ours, argparse.Namespace(command=command))
    status: int = arguments.run(arguments)
    return status


def _explain_message(words: list[str], as_json: bool) -> int:
    text = _given_text(words)
    if text is None:
        _message_parser().print_usage(sys.stderr)
        return complain("give a message, a command, or pipe a text in")
    if not text.strip():
        return complain("there is nothing to explain: the text is empty")
    if len(text) > _LONG_TEXT_CHARS:
        return _explain_log(text, as_json)

    explanation = diagnose(text)
    _tell(explanation or nearest_to(text, bundled_knowledge()), as_json)
    return EXPLAINED if explanation else NOTHING


def _explain_log(text: str, as_json: bool) -> int:
    teller = TELLER_BY_FORMAT["json" if as_json else "text"](Log("-"))
    for explanation in scan(text.splitlines(), unexplained=True):
        teller.add(explanation)
    teller.sum_up()
    return EXPLAINED if teller.has_explained else NOTHING


def _given_text(words: list[str]) -> str | None:
    """The message as arguments, or from standard input for ``-`` or where it is piped."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and (not is_open(sys.stdin) or sys.stdin.isatty()):
        return None
    with reading("standard input"):
        return standard_input().buffer.read().decode("utf-8", "replace")


def _split_command(words: list[str]) -> tuple[list[str], list[str]]:
    """Split ``run`` and its options from the command; all that follows the command's first word belongs to it."""
    own = ["run", *takewhile(lambda word: word.startswith("-") and word != "--", words[1:])]
    command = words[len(own) :]
    return own, command[1:] if command[:1] == ["--"] else command


def _run_command(arguments: argparse.Namespace) -> int:
    if not arguments.command:
        return complain("run: give a command, as in: sgl-explain run -- python -m sglang.launch_server ...")
    try:
        from sgl_explain.cli.run import run_command  # waits: only this needs what Windows lacks
    except ImportError as error:
        return complain(f"run: this system cannot do it: {error}")

    return run_command(arguments.command, as_json=arguments.json)


def _scan(arguments: argparse.Namespace) -> int:
    return scan_logs(arguments.files, "json" if arguments.json else arguments.format, follow=arguments.follow)


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
        if as_json:
            print_json(json_line(explanation_of(entry)))
        else:
            print(f"{entry.id}\n    {entry.title}")
    return EXPLAINED if found else NOTHING


def _tell(explanation: Explanation, as_json: bool, *, full: bool = False) -> None:
    if as_json:
        print_json(json_line(explanation))
    else:
        print_explanation(explanation, sys.stdout, full=full)


_OPTIONS: Final = ("--json", "--version", "-h", "--help")
_COMMANDS: Final = {
    "scan": "explain the failures in log files; - reads standard input",
    "run": "run a command, explain its failures on standard error as they pass, sum up in the end",
    "show": "print the whole page of an entry",
    "search": "find entries by words",
    "list": "list all entries",
}


def _message_parser() -> argparse.ArgumentParser:
    parser = _parser("explain an SGLang error: its meaning, why it happened, what to type instead")
    parser.usage = "sgl-explain [--json] [--] MESSAGE | - | {" + ",".join(_COMMANDS) + "} ..."
    commands = "".join(f"  {name:8}{about}\n" for name, about in _COMMANDS.items())
    parser.epilog = f"commands:\n{commands}\n{_RULE}\n{_EPILOG}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("message", nargs="*", help="the error as it was seen; - or nothing reads standard input")
    parser.add_argument("--version", action="version", version=f"sgl-explain {__version__}")
    return parser


def _command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sgl-explain")
    parser.add_argument("--json", action="store_true", default=False, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run in zip(_COMMANDS, (_scan, _run_command, _show, _search, _list), strict=True):
        command = commands.add_parser(name, help=_COMMANDS[name], description=_COMMANDS[name])
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object a line")
        command.set_defaults(run=run)
        if name == "run":
            command.usage = "sgl-explain run [--json] [--] COMMAND [ARGUMENT ...]"
            command.epilog = _RUN_RULE
        elif name == "scan":
            _add_scan_arguments(command)
        elif name == "show":
            command.add_argument("id", help="an entry's id or alias")
        elif name == "search":
            command.add_argument("words", nargs="+", help="words that the entry speaks of")
    return parser


def _add_scan_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="log files, also gzip and zstd; - is standard input")
    command.add_argument("-f", "--follow", action="store_true", help="go on as the files grow and rotate, like tail -F")
    command.add_argument(
        "--format", choices=tuple(TELLER_BY_FORMAT), default="text", help="text (default), json: one object a line"
        " (short: --json), sarif: one document in the end, github: annotations of a workflow run",
    )  # fmt: skip


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sgl-explain", description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser
