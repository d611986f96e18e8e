"""Every live case of every entry, on every release: explained exactly, nothing else changed, and the cure cures."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sgl_explain.entry import entry_to_dict
from sgl_explain.entry_files import read_entries

HERE = Path(__file__).resolve().parent
ENTRIES = HERE.parent.parent / "src" / "sgl_explain" / "data" / "entries"
MODEL_FLAG = re.compile(r"--model(?:[-_]path)?(?:=|$)")
MODEL = ["--model-path", "{MODELS}/tiny-llama"]
SHOWN_ID = re.compile(r"^  More: +sgl-explain show (\S+)$", re.MULTILINE)
VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?|[EW]\d{4} [\d:.]+|0x[0-9a-f]+|pid=\d+|/tmp/tmp\w+"
    r"|\b[1-6]\d{4}\b|delay=\d+ms|\[\d\d:\d\d<[^]]*\]"
)


def _cases():
    for entry in read_entries(ENTRIES):
        for number, case in enumerate(entry_to_dict(entry).get("live", ()), start=1):
            yield entry, f"{entry.id}/{number}", case


CASES = {name: (entry, case) for entry, name, case in _cases()}


def _with_model(argv):
    has_model = any(MODEL_FLAG.match(word) for word in argv) or argv[0].startswith("{MODELS}")
    return argv if has_model else [*MODEL, *argv]


def _input_line(name, case, live):
    for key in ("argv", "fixed"):
        if key in case:
            case = {**case, key: _with_model(case[key])}
    asked = {
        # that nothing else is changed is shown once for each entry: it takes a run without the explainer
        "compare": name.endswith("/1"),
        "follow": "releases" in case or live.is_newest,
    }
    return live.filled(json.dumps({**case, "name": name, **asked}))


@pytest.fixture(scope="session")
def outcomes(live, request):
    """The outcomes of the chosen cases that hold for this release, by name; one warmed process for each kind of GPU."""
    chosen = {item.callspec.params.get("fired") for item in request.session.items if hasattr(item, "callspec")}
    cases = {name: held for name, held in CASES.items() if name in chosen}
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = [
            pool.submit(_run, lines, live, gpu)
            for gpu in sorted({case.get("fake_gpu", "") for _, case in cases.values()})
            for lines in _halves(
                _input_line(name, case, live)
                for name, (_, case) in cases.items()
                if case.get("fake_gpu", "") == gpu and _holds_for(case, live.release)
            )
        ]
    return {name: outcome for run in runs for name, outcome in run.result().items()}


def _halves(lines):
    """The lines in two parts for two cores, where there are enough to be worth a second import of SGLang."""
    lines = list(lines)
    parts = [lines[::2], lines[1::2]] if len(lines) > 40 else [lines]
    return [part for part in parts if part]


def _run(lines, live, gpu):
    env = live.env(**({"FAKE_SM": gpu} if gpu else {}))
    done = subprocess.run(
        [live.python, HERE / "run_cases.py"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {outcome["name"]: outcome for outcome in map(json.loads, done.stdout.splitlines())}


def _holds_for(case, release):
    return release in case.get("releases", [release])


@pytest.fixture(params=CASES)
def fired(request, live, outcomes):
    """An entry, its live case, and what came of it."""
    entry, case = CASES[request.param]
    if not _holds_for(case, live.release):
        pytest.skip(f"holds for {', '.join(case['releases'])}")
    return entry, case, outcomes[request.param]


def test_the_bad_input_is_explained_by_its_entry_exactly(fired):
    entry, _, outcome = fired

    assert outcome["explained"]["diagnosis"], outcome["explained"]["stderr"][-3000:]
    assert (outcome["explained"]["diagnosis"]["id"], outcome["explained"]["diagnosis"]["confidence"]) == (
        entry.id,
        "exact",
    )


def test_the_explanation_stands_once_after_the_unchanged_output(fired):
    entry, _, outcome = fired
    explained = VOLATILE.sub("·", outcome["explained"]["stderr"])
    before, _, _ = explained.partition("sgl_explain: ")
    plain = VOLATILE.sub("·", outcome["plain"]["stderr"]) if outcome["plain"] else None

    shown = SHOWN_ID.findall(explained)
    # a report of another failure gives way to that failure, where the case holds both
    assert shown == [entry.id] or (entry.wrapper and len(shown) == 1)
    assert plain is None or plain.startswith(before)
    assert plain is None or _without_explanation(explained) == plain


def test_the_exit_code_is_unchanged(fired):
    _, _, outcome = fired
    plain = outcome["plain"] or outcome["explained"]

    assert outcome["explained"]["exit"] == plain["exit"] != 0


def test_the_captured_values_are_right(fired):
    _, case, outcome = fired
    captures, stated = outcome["explained"]["diagnosis"]["captures"], case.get("captures", {})

    assert {name: captures.get(name) for name in stated} == stated


def test_the_corrected_input_raises_nothing(fired):
    _, _, outcome = fired

    assert outcome["fixed"]["exit"] == 0, outcome["fixed"]["stderr"][-3000:]


def test_the_first_corrected_command_ends_this_error(fired):
    """It may run into the next one: it names files of the reader's, or the tiny model lacks what the command is for."""
    entry, _, outcome = fired
    followed = outcome["followed"]

    # what facts about flags say of a command is a whole command to paste
    assert followed is None or not entry.facts or followed["exit"] == 0, (
        followed["command"],
        followed["stderr"][-3000:],
    )
    assert followed is None or _told(followed) != _told(outcome["explained"]), followed["command"]


def _told(attempt):
    diagnosis = attempt["diagnosis"]
    return diagnosis and (diagnosis["id"], diagnosis["message"])


def _without_explanation(text):
    return re.sub(r"(?ms)^sgl_explain: .*?^  More: +sgl-explain show \S+\n", "", text)
