"""The facts about flags are what the real parser of a release says: spellings, what follows them, choices."""

import json
import subprocess

import pytest

from sgl_explain.flags import known_flags

LISTING = """
import argparse, json
from sglang.srt.server_args import ServerArgs

parser = argparse.ArgumentParser(add_help=False)
ServerArgs.add_cli_args(parser)
for action in parser._actions:
    choices = None if action.choices is None else sorted(map(str, action.choices))
    print("flag:", json.dumps([action.option_strings, action.nargs, choices]))
"""
TAKES = {None: "value", "?": "value", 0: "nothing"}


@pytest.fixture(scope="module")
def real(live):
    """Of each spelling of the real parser what it takes and its choices."""
    done = subprocess.run([live.python, "-c", LISTING], capture_output=True, text=True, env=live.env(), check=True)
    listed = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("flag: ")]
    return {name: (TAKES.get(nargs, "values"), choices) for names, nargs, choices in listed for name in names}


def test_the_spellings_are_those_of_the_real_parser(real, live):
    known = {name for name, flag in known_flags().items() if flag.has(name, live.release)}

    assert known == real.keys()


def test_what_follows_a_flag_is_what_the_real_parser_takes(real, live):
    known = {name: known_flags()[name].takes_in(live.release) for name in real}

    assert known == {name: takes for name, (takes, _) in real.items()}


def test_the_choices_are_those_of_the_real_parser(real, live):
    listed = {name: choices for name, (_, choices) in real.items() if choices}
    known = {name: sorted(known_flags()[name].choices_in(live.release)) for name in listed}

    assert known == listed
