"""Explain a folder of server logs with Spark: spark-submit spark.py FOLDER OUTPUT, one JSON object a failure.

Each log is read where an executor runs, so FOLDER must be a place that every node sees. Needs `pip install pyspark`.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from sgl_explain import scan


def explain_logs(paths):
    """Yield a line of JSON for each failure that the logs of a partition tell of."""
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace") as log:
            for explanation in scan(log):
                yield json.dumps({"log": path, "explanation": explanation.to_dict()})


def main(folder, output):
    """Scan the logs in parallel and write what was explained to a folder of JSON Lines files."""
    paths = sorted(str(path) for path in Path(folder).rglob("*.log"))
    spark = SparkSession.builder.appName("sgl_explain").getOrCreate()
    spark.sparkContext.parallelize(paths, len(paths) or 1).mapPartitions(explain_logs).saveAsTextFile(output)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
