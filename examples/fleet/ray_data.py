"""Explain a folder of server logs with Ray Data: python ray_data.py FOLDER OUTPUT, one JSON object a failure.

Each log is read where a worker runs, so FOLDER must be a place that every node sees. Needs `pip install "ray[data]"`.
"""

import json
import sys
from pathlib import Path

import ray

from sgl_explain import scan


def explain_logs(batch):
    """Return a row for each failure that the logs of a batch tell of."""
    rows = {"log": [], "explanation": []}
    for path in batch["item"]:
        with Path(path).open(encoding="utf-8", errors="replace") as log:
            for explanation in scan(log):
                rows["log"].append(path)
                rows["explanation"].append(json.dumps(explanation.to_dict()))
    return rows


def main(folder, output):
    """Scan the logs in parallel and write what was explained to a folder of JSON Lines files."""
    paths = sorted(str(path) for path in Path(folder).rglob("*.log"))
    ray.data.from_items(paths).map_batches(explain_logs, batch_size=1).write_json(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
