"""Server flags are read from the source of a release, in every layout SGLang has used, and merged over releases."""

import json
import zipfile
from pathlib import Path

import pytest

from sgl_explain.authoring.__main__ import main
from sgl_explain.authoring.check import problems_in
from sgl_explain.authoring.flags import (
    DeclaredFlag,
    ReleaseFlags,
    flag_lines,
    release_flags,
    successors_by_hand,
)
from sgl_explain.authoring.flags.declared import NOT_KNOWN
from sgl_explain.authoring.flags.successors import successors_in
from sgl_explain.errors import KnowledgeError
from sgl_explain.flags import is_before, known_flags

DATA = Path(__file__).resolve().parents[2] / "src" / "sgl_explain" / "data"

OLD = """
import argparse
import dataclasses
import sys
from typing import Optional

from sglang.srt.choices import BACKENDS, Mode, modes

LIMIT = 4 * 1024

@dataclasses.dataclass
class ServerArgs:
    tp_size: int = 1
    max_queued: Optional[int] = sys.maxsize
    limit: int = LIMIT
    urls: list = dataclasses.field(default_factory=list)

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--max-queued", type=int, default=ServerArgs.max_queued)
        parser.add_argument("--limit", type=int, default=ServerArgs.limit, nargs="?")
        parser.add_argument("--urls", nargs="*", default=ServerArgs.urls)
        parser.add_argument("--enable-x", action="store_true")
        parser.add_argument("--old", action=DeprecatedAction, help="gone")
        choices = ["auto"] + list(BACKENDS.keys())
        parser.add_argument("--backend", choices=choices, default="auto")
        parser.add_argument("--mode", choices=[m.name.lower() for m in Mode], default=argparse.SUPPRESS)
        if sys.platform == "linux":
            parser.add_argument("--other-mode", choices=[m.value for m in modes()])
"""

CHOICES = """
from enum import Enum

BACKENDS = {"triton": object, "fa3": object}

class Mode(Enum):
    NONE = "none"
    ALL = "all"

def modes():
    return list(Mode)
"""

NEW = """
from sglang.srt.arg_groups.arg_utils import *

class Parallel:
    _NS_PATH = "parallel"

    tp_size: A[int, "How many GPUs.", NS("x")] = 1
    dp_size: A[Optional[int], Arg(help="Replicas.", aliases=["--data-parallel-size"])] = None
    name: A[str | None, Arg(help="Its name.", cli_name="--served-name")] = _declared
    kinds: A[List[str], Arg(help="Kinds.")] = ()
    kind: A[Literal["a", "b"], Arg(help="Kind.")] = "a"
    spec: A[List[str], Arg(help="JSON.", type_parser=json_list)] = None
    on: A[bool, "On."] = False
    maybe: A[bool, Arg(help="Maybe.", action=argparse.BooleanOptionalAction)] = True
    gone: A[bool, Arg(help="Gone.", action=DeprecatedStoreTrueAction, action_kwargs={"choices": [1]})] = None
    derived: A[int, Derived()] = 0
    hidden: A[int, Arg(help="Hidden.", no_cli=True)] = 0
    plain: int = 0
"""


def release(folder: Path, **modules: str) -> Path:
    files = {"sglang/__init__.py": "", **{f"sglang/srt/{name}.py": text for name, text in modules.items()}}
    for name, text in files.items():
        path = folder / name.replace("__fields__", "arg_groups/fields/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return release(tmp_path / "0.4.9", server_args=OLD, choices=CHOICES)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return release(tmp_path / "0.5.23", server_args="class ServerArgs: ...", __fields__parallel=NEW)


def by_name(source: Path) -> dict[str, DeclaredFlag]:
    return {flag.names[0]: flag for flag in release_flags(source).server}


@pytest.mark.parametrize(
    ("name", "aliases", "takes", "choices", "default"),
    [
        ("--tensor-parallel-size", ("--tp-size",), "value", None, 1),
        ("--max-queued", (), "value", None, NOT_KNOWN),
        ("--limit", (), "value", None, 4096),
        ("--urls", (), "values", None, []),
        ("--enable-x", (), "nothing", None, False),
        ("--old", (), "nothing", None, None),
        ("--backend", (), "value", ("auto", "triton", "fa3"), "auto"),
        ("--mode", (), "value", ("none", "all"), NOT_KNOWN),
        ("--other-mode", (), "value", ("none", "all"), None),
    ],
)
def test_arguments_that_the_parser_is_given(old: Path, name: str, aliases, takes: str, choices, default):
    flag = by_name(old)[name]

    assert (flag.names[1:], flag.takes, flag.choices, flag.default) == (aliases, takes, choices, default)


@pytest.mark.parametrize(
    ("name", "aliases", "takes", "choices", "default"),
    [
        ("--tp-size", (), "value", None, 1),
        ("--dp-size", ("--data-parallel-size",), "value", None, None),
        ("--served-name", (), "value", None, NOT_KNOWN),
        ("--kinds", (), "values", None, []),
        ("--kind", (), "value", ("a", "b"), "a"),
        ("--spec", (), "value", None, None),
        ("--on", (), "nothing", None, False),
        ("--maybe", ("--no-maybe",), "nothing", None, True),
        ("--gone", (), "nothing", (1,), False),
    ],
)
def test_fields_that_are_annotated(new: Path, name: str, aliases, takes: str, choices, default):
    flag = by_name(new)[name]

    assert (flag.names[1:], flag.takes, flag.choices, flag.default) == (aliases, takes, choices, default)


def test_fields_that_are_no_flags_are_left_out(new: Path):
    assert by_name(new).keys().isdisjoint({"--derived", "--hidden", "--plain"})


def test_a_wheel_says_the_same_as_its_folder(old: Path, tmp_path: Path):
    wheel = tmp_path / "sglang-0.4.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in old.rglob("*.py"):
            archive.write(file, file.relative_to(old))

    assert release_flags(wheel) == release_flags(old)


def test_what_is_no_release_is_refused(tmp_path: Path):
    with pytest.raises(KnowledgeError, match="neither a folder"):
        release_flags(tmp_path)


def lines_of(flags_by_release: dict[str, list[DeclaredFlag]], **by_hand: tuple[str, ...]) -> list[dict]:
    text = flag_lines({number: ReleaseFlags(tuple(flags)) for number, flags in flags_by_release.items()}, by_hand)
    return [json.loads(line) for line in text.splitlines()]


def test_a_flag_is_one_line_whatever_a_release_calls_it():
    lines = lines_of(
        {
            "0.5.10": [DeclaredFlag(("--tensor-parallel-size", "--tp-size"), "tp", default=1)],
            "0.4.6.post5": [DeclaredFlag(("--tensor-parallel-size",), "tp"), DeclaredFlag(("--x",), "x", default=())],
            "0.5.9": [DeclaredFlag(("--x",), "x", "nothing", ("a",), None)],
            "0.5.23": [DeclaredFlag(("--tp-size", "--tensor-parallel-size"), "tp", default=2)],
        }
    )

    assert lines == [
        {"releases": ["0.4.6.post5", "0.5.9", "0.5.10", "0.5.23"]},
        {
            "flag": "--tp-size", "takes": "value", "default": 2, "first": "0.4.6.post5", "last": "0.5.23",
            "aliases": ["--tensor-parallel-size"], "since": {"--tp-size": "0.5.10"},
        },
        {
            "flag": "--x", "takes": "nothing", "default": None, "first": "0.4.6.post5", "last": "0.5.9",
            "choices": ["a"], "since": {"a": "0.5.9"}, "took": {"0.4.6.post5": "value"},
        },
    ]  # fmt: skip


def test_choices_that_came_and_went_are_told_by_release():
    flag = lines_of(
        {
            "0.5.3": [DeclaredFlag(("--b",), "b", choices=("old", "kept"))],
            "0.5.4": [DeclaredFlag(("--b",), "b", choices=("kept", "new"))],
        }
    )[1]

    assert (flag["choices"], flag["since"], flag["until"]) == (
        ["kept", "new", "old"],
        {"new": "0.5.4"},
        {"old": "0.5.3"},
    )


def test_a_spelling_that_became_a_flag_of_its_own_belongs_to_that_flag():
    lines = lines_of(
        {
            "0.5.12": [DeclaredFlag(("--window", "--old-window"), "window")],
            "0.5.13": [DeclaredFlag(("--window",), "window"), DeclaredFlag(("--old-window",), "window")],
        }
    )

    assert [(line["flag"], line["first"], line.get("aliases")) for line in lines[1:]] == [
        ("--old-window", "0.5.12", None),
        ("--window", "0.5.12", None),
    ]


def test_a_flag_that_goes_as_its_help_comes_back_under_another_name_was_renamed():
    said = ("The maximum micro batch size in pipeline parallelism.",)

    flag = lines_of(
        {
            "0.5.3": [DeclaredFlag(("--max-micro",), "a", said=said)],
            "0.5.4": [DeclaredFlag(("--pp-max-micro",), "b", said=said)],
        }
    )[1]

    assert (flag["flag"], flag["replacement"]) == ("--max-micro", ["--pp-max-micro"])


@pytest.mark.parametrize(
    ("text", "successors"),
    [
        ("--cuda-graph-bs-decode", ("--cuda-graph-bs-decode",)),
        ("--backend-{decode,prefill}=off", ("--backend-decode=off", "--backend-prefill=off")),
        ("--attn-dp-size <dp-size>", ("--attn-dp-size",)),
        ("[Deprecated] Alias for --join-mode recover.", ("--join-mode=recover",)),
        ("Note: it is deprecated now. Please use --swa-ratio instead.", ("--swa-ratio",)),
        ("is deprecated. Please use '--attention-backend flashmla' instead.", ("--attention-backend=flashmla",)),
        ("is deprecated. Please set `--moe-a2a-backend` to 'deepep' instead.", ("--moe-a2a-backend=deepep",)),
        ("is deprecated. Please set `--ep-size` to the same value as `--tp-size` instead.", ("--ep-size",)),
        ("(Deprecated, use --smg-grpc-mode) Legacy server.", ("--smg-grpc-mode",)),
        ("It is no longer supported. Use --report-mode with one of: off, both.", ("--report-mode",)),
        ("Deprecated: on by default. Use --enforce-it to skip conditions.", ()),
        ("[Deprecated] Use SGLANG_X=1 instead.", ()),
        ("Use --tp-size for more GPUs.", ()),
    ],
)
def test_what_a_sentence_tells_to_use_instead(text: str, successors: tuple[str, ...]):
    assert successors_in(text) == successors


def test_successors_are_read_from_declarations_and_from_what_is_logged_on_use(tmp_path: Path):
    source = OLD.replace(
        'parser.add_argument("--enable-x"',
        'parser.add_argument("--old-mode", action=DeprecatedAliasStoreAction, new_flag="--mode")\n'
        '        parser.add_argument("--enable-y", action="store_true", help="Deprecated.")\n'
        "        warn(\"--enable-y is deprecated. Please set `--backend` to 'fa3' instead.\")\n"
        '        parser.add_argument("--enable-z", action="store_true", help="Deprecated, use --unknown instead.")\n'
        '        parser.add_argument("--enable-x"',
    )

    found = release_flags(release(tmp_path / "0.5.10", server_args=source, choices=CHOICES)).successors

    assert found == {"--old-mode": ("--mode",), "--enable-y": ("--backend=fa3",)}


def test_the_successors_by_hand_have_a_source_and_are_needed():
    by_hand = successors_by_hand(DATA / "flag_successors.toml")

    assert list(by_hand) == sorted(by_hand)
    for name, (successor,) in by_hand.items():
        flag = known_flags()[name]
        assert flag.replacement == (successor,)
        assert is_before(flag.last_with(name), known_flags()[successor].last_with(successor))


def test_successors_by_hand_without_a_source_are_refused(tmp_path: Path):
    file = tmp_path / "successors.toml"
    file.write_text('["--x"]\nsuccessor = "--y"\n')

    with pytest.raises(KnowledgeError, match='--x: write successor = "--x" and source'):
        successors_by_hand(file)


def test_the_flags_of_the_benchmark_are_marked(tmp_path: Path):
    folder = release(tmp_path / "0.5.10", server_args="class ServerArgs: ...")
    (folder / "sglang" / "bench_serving.py").write_text('parser.add_argument("--num-prompts", type=int, default=1000)')

    lines = flag_lines({"0.5.10": release_flags(folder)}).splitlines()

    assert json.loads(lines[1]) == {
        "program": "bench_serving", "flag": "--num-prompts", "takes": "value", "default": 1000,
        "first": "0.5.10", "last": "0.5.10",
    }  # fmt: skip


def test_the_command_writes_the_flags_of_all_releases(old: Path, new: Path, tmp_path: Path, capsys):
    output = tmp_path / "flags.jsonl"

    code = main(["flags", str(old), str(new), "--output", str(output)])

    records = {record["flag"]: record for record in map(json.loads, output.read_text().splitlines()[1:])}
    assert code == 0
    assert (records["--tp-size"]["first"], records["--tp-size"]["last"]) == ("0.4.9", "0.5.23")
    assert "17 flags of 2 releases written" in capsys.readouterr().out


def test_the_command_says_what_is_no_release(tmp_path: Path, capsys):
    assert main(["flags", str(tmp_path)]) == 1
    assert "neither a folder" in capsys.readouterr().err


ENTRY = """
[widget-count-wrong]
title      = "The widget count is wrong"
raises     = ["ValueError"]
templates  = ["The widget count must be {expected:int}, but got {given:int}."]
upstream   = ["UPSTREAM:check"]
versions   = "VERSIONS"
meaning    = "There are {given} widgets where {expected} fit."
trigger    = "Widgets were given."
situations = ["The flag was copied."]

[[widget-count-wrong.fixes]]
do            = "Take --tp-size or --dcp-size, as --help says, not --speculative-*."
FIX
applicability = "safe"

[widget-count-wrong.example]
before = "3"
after  = "2"

[widget-count-wrong.prevention]
habits   = ["Leave it out."]

[[widget-count-wrong.tests]]
message  = "The widget count must be 2, but got 3."
"""


@pytest.fixture
def check(tmp_path: Path):
    def run(
        fix: str = "", versions: str = ">=0.5.16", upstream: str = "sglang.srt.server_args", exemptions: str = ""
    ) -> list[str]:
        folder = "srt/server_args" if upstream.startswith("sglang.srt") else "router/router"
        file = tmp_path / "entries" / f"{folder}.toml"
        file.parent.mkdir(parents=True)
        file.write_text(ENTRY.replace("FIX", fix).replace("VERSIONS", versions).replace("UPSTREAM", upstream))
        (tmp_path / "exemptions.toml").write_text(exemptions)
        return [line.partition("fix 1: ")[2] or line for line in problems_in(tmp_path / "entries")]

    return run


@pytest.mark.parametrize(
    ("fix", "versions", "problems"),
    [
        ("", ">=0.5.16", []),
        ('set = { "--tensor-parallel-size" = "2" }', ">=0.5.16", []),
        ('remove = ["--widgets"]', ">=0.5.16", ["--widgets is no server flag"]),
        ('set = { "--tp" = "2" }', ">=0.5.16", ["--tp is no server flag; it is short for --tp-size"]),
        ("", ">=0.5.2,<0.5.15", ["--dcp-size: no release in >=0.5.2,<0.5.15 has it, only 0.5.15 to 0.5.23"]),
        ("", "==0.5.18", []),
        ('when = { release = ">=0.5.20" }', ">=0.5.2", []),
        (
            'when = { release = "<0.5.10" }',
            ">=0.5.2",
            ["--dcp-size: no release in >=0.5.2,<0.5.10 has it, only 0.5.15 to 0.5.23"],
        ),
        ('run = "docker run --ipc=host"', ">=0.5.16", []),
    ],
)
def test_flags_of_fixes_exist_in_the_versions_they_are_for(check, fix: str, versions: str, problems: list[str]):
    assert check(fix, versions) == problems


def test_flags_of_other_servers_are_not_looked_at(check):
    assert check('remove = ["--widgets"]', upstream="sglang_router") == []


@pytest.mark.parametrize(
    ("fix", "exemptions", "problem"),
    [
        ('remove = ["--widgets"]', 'flags = ["--widgets"]\nreason = "It is a test."', None),
        ("", 'flags = ["--widgets"]\nreason = "It is a test."', "--widgets is exempted, but needs it no longer"),
        ('remove = ["--widgets"]', 'flags = ["--widgets"]', 'write flags = ["--x"] and reason = "…"'),
        ("", '[other]\nflags = ["--widgets"]\nreason = "It is a test."', "no entry is called other"),
    ],
)
def test_exemptions_are_reasoned_and_needed(check, fix: str, exemptions: str, problem: str | None):
    header = "" if exemptions.startswith("[") else "[widget-count-wrong]\n"

    found = check(fix, exemptions=header + exemptions)

    assert found == [] if problem is None else any(problem in line for line in found)


@pytest.mark.parametrize(
    ("fix", "problem"),
    [
        ('choose = { "--dp-size" = "divisor of --tp-size" }\ncode = "dp = {choice}"', None),
        ('choose = { "--dp-size" = "half of --tp-size" }', "'half of --tp-size' is none of divisor of --flag"),
        ('choose = { "--widgets" = "divisor of --tp-size" }', "choose: --widgets is no server flag"),
        ('choose = { "--dp-size" = "divisor of --widgets" }', "choose: --widgets is no server flag"),
        ('choose = { "--dp-size" = "divisor of --tp-size", "--ep-size" = "divisor of --tp-size" }', "one flag only"),
        ('code = "dp = {choice}"', "no template captures {choice}"),
    ],
)
def test_a_choice_is_for_one_flag_by_a_known_rule(check, fix: str, problem: str | None):
    found = check(fix)

    assert found == [] if problem is None else any(problem in line for line in found)
