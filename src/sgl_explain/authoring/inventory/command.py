"""``python -m sgl_explain.authoring inventory WHEEL_OR_FOLDER``: what a release can say, one JSON object a line."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from sgl_explain.authoring.inventory.listening import sayings_of
from sgl_explain.authoring.inventory.saying import Saying
from sgl_explain.authoring.inventory.source import release_at


def inventory(source: Path) -> tuple[Saying, ...]:
    """Return everything the SGLang release in a folder or wheel can say to a user, sorted by module and line.

    A module written in newer syntax than this Python's is left out. Raises ValueError if there is no release.
    """
    release = release_at(source)
    found: list[Saying] = []
    with _collector_paused():
        for name in release.module_names:
            if module := release.find_module(name):
                found += sorted(dict.fromkeys(sayings_of(module)), key=lambda saying: saying.lineno)
    return tuple(found)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from scanning syntax trees, which hold no cycles: it takes two thirds of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the inventory; return 0, or 2 if there is no release to read."""
    parser = argparse.ArgumentParser(prog="python -m sgl_explain.authoring inventory", description=__doc__)
    parser.add_argument("source", type=Path, help="an unpacked release (a folder that contains sglang/) or a wheel")
    parser.add_argument("--summary", action="store_true", help="print counts by kind and by module instead")
    options = parser.parse_args(argv)
    try:
        sayings = inventory(options.source)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    _print(_summary(sayings) if options.summary else _records(sayings))
    return 0


def _print(lines: Iterable[str]) -> None:
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:  # piped into head: nobody reads on, and the flush at exit must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _records(sayings: Iterable[Saying]) -> Iterable[str]:
    return (json.dumps(asdict(saying), ensure_ascii=False) for saying in sayings)


def _summary(sayings: Iterable[Saying]) -> Iterable[str]:
    kinds = Counter[str]()
    modules = Counter[str]()
    for saying in sayings:
        kinds[saying.kind] += 1
        modules[saying.module] += 1
    yield from (f"{count:7} {kind}" for kind, count in kinds.most_common())
    yield from (f"{count:7} {module}" for module, count in modules.most_common())
