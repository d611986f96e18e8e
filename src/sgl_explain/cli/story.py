"""What a log's failures come to for a person: each once, reports and harmless lines aside."""

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable

from sgl_explain.explanation import Explanation
from sgl_explain.render.choose import print_explanation


def tell_story(explanations: Iterable[Explanation], name: str) -> bool:
    """Print each distinct failure once, as it comes; tell whether anything was explained.

    What only reports or accompanies a failure stands in a last line, or is told in full where there is nothing else.
    """
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
    return bool(failures or aside)


def _tell_one_of_many(explanation: Explanation) -> None:
    print_explanation(explanation, sys.stdout)
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
