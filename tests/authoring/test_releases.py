"""What the sources of releases say of the knowledge: coverage, sync, versions, on small releases written here."""

from pathlib import Path

import pytest

from sgl_explain.authoring.__main__ import main

ENTRY = """
[widget-count-wrong]
title      = "The widget count is wrong"
raises     = ["ValueError"]
templates  = ["The widget count must be {expected}, but got {given} instead of it."]
upstream   = ["sglang.srt.arg_groups.widgets:check"]
versions   = ">=0.5.1"
meaning    = "There are {given} widgets where {expected} fit."
trigger    = "--widgets was given."
situations = ["The flag was copied."]

[[widget-count-wrong.fixes]]
do            = "Give {expected}."
applicability = "display"

[widget-count-wrong.example]
before = "--widgets 3"
after  = "--widgets 2"

[widget-count-wrong.prevention]
habits   = ["Leave it out."]

[[widget-count-wrong.tests]]
message  = "The widget count must be 2, but got 3 instead of it."
"""
CHECK = """
def check(cfg):
    if cfg.widgets != 2:
        raise ValueError(
            f"The widget count must be {cfg.right}, "
            f"but got {cfg.widgets} instead of it."
        )
"""
SERVER_ARGS = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--widgets", type=int, default=2)
        parser.add_argument("{flag}", action="store_true")
"""
UNRELATED = """
def other(cfg):
    assert cfg.sprockets, "Sprockets are needed for this."

def internal(cfg):
    raise RuntimeError("The registry of widgets was never filled.")
"""


@pytest.fixture
def shelf(tmp_path):
    file = tmp_path / "data" / "entries" / "srt" / "arg_groups" / "widgets.toml"
    file.parent.mkdir(parents=True)
    file.write_text(ENTRY)
    return tmp_path / "data" / "entries"


@pytest.fixture
def release(tmp_path):
    """Return a function that writes the source of a release and gives its folder."""

    def write(number: str, widgets: str, *, module: str = "arg_groups/widgets", flag: str = "--shiny") -> Path:
        package = tmp_path / number / "sglang"
        for name, text in {
            "__init__.py": "",
            "_version.py": f"version = '{number}'",
            "srt/__init__.py": "",
            "srt/server_args.py": SERVER_ARGS.replace("{flag}", flag),
            f"srt/{module}.py": widgets,
        }.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text)
        return package.parent

    return write


@pytest.fixture
def run(shelf, tmp_path, capsys):
    """Return a function that runs an authoring command on the shelf and gives its status and output."""

    def call(*words):
        status = main([*map(str, words), "--entries", str(shelf), "--cache", str(tmp_path / "cache")])
        return status, capsys.readouterr().out

    return call


def test_coverage_counts_what_is_explained_reachable_and_there(run, release, shelf):
    (shelf.parent / "unreachable.toml").write_text(
        '[[unreachable]]\nupstream = "sglang.srt.arg_groups.widgets:internal"\nreason = "filled at import"\n'
    )
    _, said = run("coverage", "--sglang", release("0.5.2", CHECK + UNRELATED))

    assert ["sglang.srt.arg_groups.widgets", "1", "2", "3"] in [line.split() for line in said.splitlines()]


def test_coverage_lists_what_is_missing(run, release):
    _, said = run("coverage", "--missing", "--sglang", release("0.5.2", CHECK + UNRELATED))

    assert [line.split("  ")[-1] for line in said.splitlines()] == [
        "Sprockets are needed for this.",
        "The registry of widgets was never filled.",
    ]


def test_an_unreachable_site_without_a_reason_is_refused(run, release, shelf, capsys):
    (shelf.parent / "unreachable.toml").write_text('[[unreachable]]\nupstream = "sglang.srt.x:y"\n')

    assert main(["coverage", "--sglang", str(release("0.5.2", CHECK)), "--entries", str(shelf)]) == 1
    assert "unreachable.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("widgets", "module", "said"),
    [
        (CHECK, "arg_groups/widgets", "1 of 1 entries that cover this release stand in it unchanged"),
        (CHECK, "arg_groups/gadgets", "moved     widget-count-wrong: now in sglang.srt.arg_groups.gadgets"),
        (CHECK.replace("instead of it", "which is another number"), "arg_groups/widgets", "reworded  widget-count"),
        ("def check(cfg): pass", "arg_groups/widgets", "gone      widget-count-wrong"),
    ],
)
def test_sync_tells_how_an_entry_stands(run, release, widgets, module, said):
    assert said in run("sync", "--sglang", release("0.5.3", widgets, module=module))[1]


def test_sync_proposes_the_new_wording(run, release):
    _, said = run("sync", "--sglang", release("0.5.3", CHECK.replace("instead of it", "which is another number")))

    assert "but got {widgets} which is another number." in said


def test_sync_lists_only_sites_and_flags_that_are_new(run, release):
    old = release("0.5.2", CHECK + UNRELATED)
    new = release(
        "0.5.3", CHECK + UNRELATED + "\ndef more(cfg):\n    raise ValueError('A widget fell off.')\n", flag="--dull"
    )
    _, said = run("sync", "--sglang", new, "--since", old)

    assert [line for line in said.splitlines() if line.startswith(("new", "flag removed"))] == [
        "new       sglang.srt.arg_groups.widgets:more:16  raise  A widget fell off.",
        "flag removed  --shiny",
    ]
    assert "flag new      --dull" in said


def test_versions_come_from_the_sources(run, release, shelf):
    releases = [
        release("0.5.1", "def check(cfg): pass"),
        release("0.5.2", CHECK, module="server"),
        release("0.5.3", CHECK),
        release("0.5.4", "def check(cfg): pass"),
    ]
    status, said = run("versions", *releases)

    assert (status, said.splitlines()[0]) == (1, "widget-count-wrong: >=0.5.1, by the sources >=0.5.2,<0.5.4")

    run("versions", *releases, "--write")

    assert 'versions   = ">=0.5.2,<0.5.4"' in next(shelf.rglob("*.toml")).read_text()
    assert run("versions", *releases)[0] == 0
