# SPDX-License-Identifier: Apache-2.0
"""Computes a model's output for a table with Spark: a pandas UDF that loads the model once.

    spark-submit spark_batches.py MODEL TABLE OUTPUT

TABLE is a Parquet file whose column "features" has arrays; the model has one input (batch, n) and
one output (batch, k). Every executor has to read MODEL at the same path.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

from megengine.serving.ray import Predictor  # needs no part of Ray


def main(model: str, table: str, output: str) -> None:
    def score(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        predict = Predictor(model)  # once per task
        (name,) = predict.input_names
        for column in batches:
            (scores,) = predict({name: np.stack(column.to_numpy())}).values()
            yield pd.Series(list(scores))

    spark = SparkSession.builder.appName("mge").getOrCreate()
    scored = pandas_udf(score, "array<float>")
    frame = spark.read.parquet(table)
    frame.withColumn("scores", scored("features")).write.parquet(output)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
