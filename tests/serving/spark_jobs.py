# SPDX-License-Identifier: Apache-2.0
"""The example for Spark, with a worker that is killed in the middle of the work.

    spark-submit spark_jobs.py EXAMPLE MODEL FOLDER

EXAMPLE is examples/serving/spark_batches.py. MODEL has an input (batch, 8). FOLDER gets the table,
and the scores as an array of NumPy with the number of each row.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from megengine.serving.ray import Predictor

ROWS, PARTS = 240, 6


def dying_predictor(mark):
    """A class whose first object kills its process at its second batch, once in the whole job."""

    class DyingPredictor(Predictor):
        calls = 0

        def __call__(self, batch):
            self.calls += 1
            if self.calls == 2 and not os.path.exists(mark):
                Path(mark).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    return DyingPredictor


def main(example, model, folder):
    spec = importlib.util.spec_from_file_location("spark_batches", example)
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    job.Predictor = dying_predictor(f"{folder}/killed")

    rows = np.random.RandomState(1).rand(ROWS, 8).astype("float32").tolist()
    spark = SparkSession.builder.getOrCreate()
    frame = spark.createDataFrame(list(enumerate(rows)), "id long, features array<float>")
    frame.repartition(PARTS).write.parquet(f"{folder}/table")
    job.main(model, f"{folder}/table", f"{folder}/output")
    assert os.path.exists(f"{folder}/killed")

    spark = SparkSession.builder.getOrCreate()  # the example has stopped its own
    found = spark.read.parquet(f"{folder}/output").collect()
    np.savez(
        f"{folder}/scores.npz",
        id=[row["id"] for row in found],
        features=[row["features"] for row in found],
        scores=[row["scores"] for row in found],
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
