"""The frontend program that swallows its error, as a script and in a notebook on the real SGLang."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent

# Jupyter's own packages warn of their deprecations
pytestmark = pytest.mark.filterwarnings("ignore")

BACKEND = f"""
import sys; sys.path.insert(0, {str(HERE / "lab")!r})
import mock_openai; port = mock_openai.serve().server_address[1]
import sglang as sgl
sgl.set_default_backend(sgl.OpenAI("gpt-4", api_key="sk-fake-key-1", base_url=f"http://127.0.0.1:{{port}}/v1"))
"""
CHARACTER = """
@sgl.function
def character(s):
    s += sgl.system("You are a helpful assistant.")
    s += sgl.user("Construct a character.")
    s += sgl.assistant(
        "Name: " + sgl.gen("name", max_tokens=8, stop="\\n")
        + "\\nBirthday: " + sgl.gen("birthday", max_tokens=8, stop="\\n")
    )

state = character.run()
print(state["name"])
"""
CURED = CHARACTER.replace("@sgl.function", "@sgl.function(num_api_spec_tokens=128)")
ALIAS = "055d24a47aa5536b"


@pytest.fixture(scope="session")
def entry_id():
    import sgl_explain

    return sgl_explain.knowledge().get(ALIAS).id


def run(live, program, tmp_path, **env):
    script = tmp_path / "character.py"
    script.write_text(program)
    return subprocess.run(
        [live.python, script], capture_output=True, text=True, env=live.env(**env), check=False, timeout=240
    )


def test_the_swallowed_error_of_a_frontend_program_is_explained(live, tmp_path, entry_id):
    done = run(live, "import sgl_explain; sgl_explain.install()\n" + BACKEND + CHARACTER, tmp_path)
    plain = run(live, "import sgl_explain; sgl_explain.install()\n" + BACKEND + CHARACTER, tmp_path, SGL_EXPLAIN="0")

    assert f"sgl-explain show {entry_id}" in done.stderr
    assert done.stderr.count("sgl_explain: ") == 1
    assert done.returncode == plain.returncode != 0


def test_the_cure_cures(live, tmp_path):
    done = run(live, BACKEND + CURED, tmp_path)

    assert (done.returncode, done.stdout) == (0, "Alice\n")


@pytest.fixture
def run_notebook(live, tmp_path, monkeypatch):
    folder = tmp_path / "kernels" / "sglang"
    folder.mkdir(parents=True)
    argv = [str(live.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    env = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", **live.env()}
    kernel = {"argv": argv, "display_name": "sglang", "language": "python", "env": env}
    (folder / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setattr(KernelSpecManager, "kernel_dirs", [str(tmp_path / "kernels")])

    def execute(*cells):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        NotebookClient(notebook, timeout=240, kernel_name="sglang", allow_errors=True).execute()
        return [cell.outputs for cell in notebook.cells]

    return execute


def html_of(outputs):
    return "".join(output.data.get("text/html", "") for output in outputs if output.output_type == "display_data")


def check_arguments(live, flags):
    words = live.filled("--model-path {MODELS}/tiny-llama " + flags).split()
    return (
        "from sglang.srt.server_args import prepare_server_args\n"
        f"arguments = prepare_server_args({words!r}); arguments.resolve_once(); arguments.check_server_args()"
    )


def test_failures_in_a_notebook_are_explained_with_html(live, run_notebook):
    dspark_flags = (
        "--device cuda --speculative-algorithm DSPARK --speculative-draft-model-path {MODELS}/tiny-draft "
        "--speculative-dspark-block-size 4 --speculative-num-draft-tokens 8"
    )
    cells = [
        "%load_ext sgl_explain",
        check_arguments(live, dspark_flags),
        check_arguments(live, "--device cpu --chunked-prefill-size 100 --page-size 64"),
        "from sglang.srt.sampling.sampling_params import SamplingParams\nSamplingParams(top_p=3).verify(1000)",
        "%unload_ext sgl_explain",
        "SamplingParams(top_p=3).verify(1000)",
    ]
    _, dspark, chunk, sampling, _, unloaded = run_notebook(*cells)

    assert "dspark-draft-tokens-not-gamma-plus-one" in html_of(dspark)
    assert "page" in html_of(chunk)
    assert "top_p" in html_of(sampling)
    assert "sgl-explain" not in html_of(unloaded)


def test_a_frontend_program_in_a_notebook_is_explained(run_notebook, entry_id):
    *_, outputs = run_notebook("import sgl_explain; sgl_explain.install();", BACKEND, CHARACTER)

    assert html_of(outputs).count(f"show {entry_id}") == 1


def test_the_interpreter_of_these_tests_is_not_the_one_that_has_sglang(live):
    assert Path(sys.executable) != live.python


def test_the_wheel_holds_what_runs_and_nothing_that_runs_by_itself(installed):
    package = installed / "sgl_explain"

    assert (package / "py.typed").exists()
    assert (package / "data" / "knowledge.jsonl").exists()
    assert (package / "data" / "flags.jsonl").exists()
    assert not (package / "data" / "entries").exists()
    assert list(installed.rglob("*.pth")) == []
