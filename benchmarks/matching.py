"""How matching compares with two naive versions of itself, on every message an SGLang release can say.

    python benchmarks/matching.py RELEASE|WHEEL|FOLDER

Prints ratios: time against trying every template on every message, and wrong claims against a plain
`rapidfuzz.fuzz.ratio` over all templates at a cutoff of 75. A claim is wrong when its entry names another module than
the one that says the message.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process

import sgl_explain
from sgl_explain.authoring.source import DEFAULT_CACHE, read_release, sample_of
from sgl_explain.entry import Entry, Site
from sgl_explain.evidence import Context, Evidence, Raised
from sgl_explain.matching import judge
from sgl_explain.template import Template

CUTOFF: Final = 75
NAIVE_SAMPLE: Final = 400


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its raise site would say it, and the module that says it."""

    module: str
    raised: Raised


def messages(release: str) -> Iterator[Message]:
    """Yield every message of a release with sample values in its holes."""
    for module, sayings in read_release(release, DEFAULT_CACHE).sayings_by_module.items():
        for saying in sayings:
            text = sample_of(saying)
            if text:
                types = (saying.exception,) if saying.exception and saying.kind in ("raise", "assert") else ()
                yield Message(module, Raised(types, text))


def _is_home(entry: Entry, message: Message) -> bool:
    return any(Site(upstream).module == message.module for upstream in entry.upstream)


def _indexed(message: Message) -> Entry | None:
    evidence = Evidence((message.raised,), Context(sglang_in_picture=True))
    verdict = judge(evidence, sgl_explain.knowledge()).verdict
    return verdict.entry if verdict and verdict.confidence != "similar" else None


ALL: Final = [(entry, Template.parse(text)) for entry in sgl_explain.knowledge() for text in entry.templates]
LITERALS: Final = [template.literals for _, template in ALL]


def _every_template(message: Message) -> Entry | None:
    found = [entry for entry, template in ALL if template.match(message.raised.message)]
    return found[0] if found else None


def _plain_ratio(message: Message) -> Entry | None:
    best = process.extractOne(message.raised.message, LITERALS, scorer=fuzz.ratio, score_cutoff=CUTOFF)
    return ALL[best[2]][0] if best else None


def measured(way: Callable[[Message], Entry | None], sample: list[Message]) -> tuple[float, int, int]:
    """Return the seconds a message takes, how many were claimed, and how many of those wrongly."""
    way(sample[0])
    start = time.perf_counter()
    claims = [(way(message), message) for message in sample]
    seconds = (time.perf_counter() - start) / len(sample)
    made = [(entry, message) for entry, message in claims if entry is not None]
    return seconds, len(made), sum(not _is_home(entry, message) for entry, message in made)


def main() -> None:
    """Measure and print."""
    sample = list(messages(sys.argv[1]))
    few = sample[:: max(1, len(sample) // NAIVE_SAMPLE)]
    own_s, claimed, wrong = measured(_indexed, sample)
    naive_s, _, _ = measured(_every_template, few)
    ratio_s, ratio_claimed, ratio_wrong = measured(_plain_ratio, few)
    print(f"{len(sample)} messages, {len(ALL)} templates, {len(sgl_explain.knowledge())} entries")
    print(
        f"a message: {own_s * 1e6:.0f} us; every template {naive_s / own_s:.1f} x, fuzz.ratio {ratio_s / own_s:.1f} x"
    )
    print(f"claimed {claimed / len(sample):.1%}, of which another module's {wrong / max(claimed, 1):.1%}")
    strays = ratio_wrong / max(ratio_claimed, 1)
    print(f"fuzz.ratio claims {ratio_claimed / len(few):.1%}, of which another module's {strays:.1%}")


if __name__ == "__main__":
    main()
