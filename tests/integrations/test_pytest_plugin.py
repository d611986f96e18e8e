"""The pytest plugin in real runs of pytest: inert unless asked; section, summary line and property where asked."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
DSPARK_ID = "dspark-draft-tokens-not-gamma-plus-one"
SUMMARY = f"sgl_explain: failures explained, by sgl-explain show ID: {DSPARK_ID} (1)"

FAILING = """
import pytest
names = {"__name__": "sglang.srt.arg_groups.speculative_hook"}
exec("def _handle_dspark():\\n    raise ValueError('DSpark speculative_num_draft_tokens must equal gamma + 1 "
     "(= 5 for gamma=4), but got speculative_num_draft_tokens=8.')", names)
_handle_dspark = names["_handle_dspark"]
"""
ONE = FAILING + "def test_one(): _handle_dspark()\ndef test_other(): assert 1 == 2\n"


@pytest.fixture
def run_pytest(tmp_path):
    return runner(tmp_path)


@pytest.fixture(scope="module")
def run_pytest_anywhere(tmp_path_factory):
    folder = tmp_path_factory.mktemp("styles")
    return runner(folder)


def runner(tmp_path):
    """Return a function that runs pytest on a file's text, with the package as the entry points find it installed."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    metadata = tmp_path / "site" / "sgl_explain-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sgl-explain\nVersion: 0\n")
    lines = (f"{name} = {module}" for name, module in entry_points.items())
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    tests = tmp_path / "tests"
    tests.mkdir()

    def run(text, *options, ini="", **env):
        (tests / "test_it.py").write_text(text)
        (tests / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGL", "PYTEST", "PYTHON"))}
        variables = {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(tmp_path / "site")]), **env}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *options]
        return subprocess.run(
            command, cwd=tests, capture_output=True, text=True, env=variables, check=False, timeout=120
        )

    return run


def untimed(text):
    return re.sub(r"in \d+\.\d+s|^plugins: .*$", "", text, flags=re.MULTILINE)


def ids_shown(text):
    return re.findall(r"^ *More: +sgl-explain show (\S+)$", text, re.MULTILINE)


LOADED = """
import sys
def test_loaded():
    print(*sorted(name for name in sys.modules if name.startswith("sgl_explain") or name in ("wrapt", "rapidfuzz")))
"""


def test_without_being_asked_only_the_plugins_own_module_is_loaded(run_pytest):
    done = run_pytest(LOADED, "-s", "-q")

    assert done.stdout.splitlines()[0].removesuffix(".") == (
        "sgl_explain sgl_explain.integrations sgl_explain.integrations.pytest_plugin"
    )


def test_without_being_asked_the_output_is_that_of_a_run_without_the_plugin(run_pytest):
    done, without = run_pytest(ONE), run_pytest(ONE, "-p", "no:sgl_explain")

    assert untimed(done.stdout) == untimed(without.stdout)
    assert "sgl_explain" not in done.stdout


@pytest.mark.parametrize(("options", "ini"), [(["--sgl-explain"], ""), ([], "sgl_explain = true")])
def test_whoever_asks_gets_a_section_in_the_report_of_the_failure(run_pytest, options, ini):
    done = run_pytest(ONE, *options, ini=ini)
    report, _, other = done.stdout.partition("__ test_other __")

    assert re.search(r"^-+ sgl_explain -+\nsgl_explain: DSpark", report, re.MULTILINE)
    assert ids_shown(report) == [DSPARK_ID]
    assert ids_shown(other) == []


def test_it_can_be_turned_off_by_the_variable(run_pytest):
    assert "sgl_explain" not in run_pytest(ONE, "--sgl-explain", SGL_EXPLAIN="0").stdout


STYLES = ["auto", "long", "short", "native", "line", "no"]


@pytest.fixture(
    scope="module", params=[(style, *xdist) for style in STYLES for xdist in ([], ["-n", "2"])], ids=" ".join
)
def styled(request, run_pytest_anywhere):
    style, *xdist = request.param
    return style, run_pytest_anywhere(ONE, "--sgl-explain", f"--tb={style}", *xdist).stdout


def test_every_style_that_shows_a_report_has_the_section_below_its_traceback(styled):
    style, text = styled
    report = re.search(r"^_+ test_one _+\n(.*?)\n(_+ test_other|=+ )", text, re.MULTILINE | re.DOTALL)

    assert ids_shown(text) == ([] if style in ("line", "no") else [DSPARK_ID])
    assert report is None or report[1].index("ValueError: DSpark") < report[1].index("- sgl_explain -")


def test_the_summary_has_one_line_whatever_the_style(styled):
    _, text = styled

    assert text.splitlines().count(SUMMARY) == 1


@pytest.mark.parametrize("xdist", [[], ["-n", "2"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_the_junit_file_names_the_entry_once(run_pytest, tmp_path, family, xdist):
    run_pytest(ONE, "--sgl-explain", f"--junitxml={tmp_path / 'junit.xml'}", "-o", f"junit_family={family}", *xdist)
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "junit.xml").iter("testcase")}
    properties = {name: [p.attrib for p in case.iter("property")] for name, case in cases.items()}

    assert properties == {"test_one": [{"name": "sgl_explain", "value": DSPARK_ID}], "test_other": []}


EXPECTED_ERRORS = (
    FAILING
    + """
def test_raises():
    with pytest.raises(ValueError, match=r"^DSpark .*=8\\.$") as caught: _handle_dspark()
    assert not hasattr(caught.value, "__notes__") and vars(caught.value) == {}

@pytest.mark.xfail(strict=True)
def test_xfail(): _handle_dspark()

def test_skipped():
    try: _handle_dspark()
    except ValueError: pytest.skip("no")
"""
)


def test_errors_that_a_test_expects_are_not_touched(run_pytest):
    done = run_pytest(EXPECTED_ERRORS, "--sgl-explain")

    assert "1 passed, 1 skipped, 1 xfailed" in done.stdout
    assert "sgl_explain" not in done.stdout


def test_a_fixture_that_fails_for_many_tests_is_explained_once_and_counted_for_all(run_pytest, tmp_path):
    text = FAILING + (
        "@pytest.fixture(scope='module')\ndef engine(): _handle_dspark()\n"
        "@pytest.mark.parametrize('n', range(3))\ndef test_n(engine, n): pass\n"
    )
    done = run_pytest(text, "--sgl-explain", f"--junitxml={tmp_path / 'junit.xml'}")

    assert ids_shown(done.stdout) == [DSPARK_ID]
    assert f"{DSPARK_ID} (3)" in done.stdout
    assert len(list(ET.parse(tmp_path / "junit.xml").iter("property"))) == 3


@pytest.mark.parametrize("xdist", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_an_error_of_collection_is_explained(run_pytest, xdist):
    done = run_pytest(FAILING + "_handle_dspark()\n", "--sgl-explain", *xdist)

    assert DSPARK_ID in ids_shown(done.stdout)
    assert DSPARK_ID in done.stdout.rpartition("by sgl-explain show ID")[2]


def test_failures_of_teardown_are_explained(run_pytest):
    text = FAILING + "@pytest.fixture\ndef engine():\n    yield\n    _handle_dspark()\ndef test_it(engine): pass\n"

    assert ids_shown(run_pytest(text, "--sgl-explain").stdout) == [DSPARK_ID]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_each_leaf_of_a_group_has_its_page_and_its_property(run_pytest, tmp_path):
    text = FAILING + (
        "def error(action):\n    try: action()\n    except ValueError as e: return e\n"
        "names = {'__name__': 'sglang.srt.sampling.sampling_params'}\n"
        "exec('def verify(): raise ValueError(\"top_p must be in (0, 1], got 3.\")', names)\n"
        "def test_group(): raise ExceptionGroup('two', [error(_handle_dspark), error(names['verify'])])\n"
    )
    done = run_pytest(text, "--sgl-explain", f"--junitxml={tmp_path / 'junit.xml'}")

    assert ids_shown(done.stdout) == [DSPARK_ID, "request-sampling-value-out-of-range"]
    assert len(list(ET.parse(tmp_path / "junit.xml").iter("property"))) == 2


def test_a_broken_explainer_leaves_the_report_as_it_is(run_pytest):
    broken = "import sgl_explain.explanation as m\ndef explained(*a): raise SystemExit(9)\nm.explained = explained\n"
    done, plain = run_pytest(broken + ONE, "--sgl-explain"), run_pytest(broken + ONE)

    assert untimed(done.stdout) == untimed(plain.stdout)


def test_a_program_that_has_imported_the_package_can_run_pytest(run_pytest, tmp_path):
    done = run_pytest("import subprocess, sys\ndef test_it():\n    assert subprocess.run([sys.executable, '-c', "
                      "'import sgl_explain, pytest; sys_exit = pytest.main([\"--version\", \"-W\", \"error\"]); "
                      "raise SystemExit(sys_exit)']).returncode == 0\n")  # fmt: skip

    assert "1 passed" in done.stdout
