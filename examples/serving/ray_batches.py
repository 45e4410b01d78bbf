# SPDX-License-Identifier: Apache-2.0
"""Computes a model's outputs for a data set with Ray, in several processes.

    python ray_batches.py MODEL FOLDER [--workers 2]

The model has one input with a batch dimension. FOLDER gets Parquet files with the outputs and the
number of each row.
"""

import argparse

import numpy as np
import ray

from megengine.serving import ServedModel
from megengine.serving.ray import Predictor


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()

    (info,) = ServedModel(arguments.model).inputs
    shape = [size if isinstance(size, int) else 1 for size in info.shape[1:]]

    def with_inputs(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Each row depends on its number only. A job of yours reads files here."""
        rows = [np.random.default_rng(number).random(shape) for number in batch["id"]]
        return {"id": batch["id"], info.name: np.stack(rows).astype(info.dtype)}

    ray.init(num_cpus=arguments.workers, include_dashboard=False)
    data = ray.data.range(arguments.rows, override_num_blocks=2 * arguments.workers)
    scored = data.map_batches(with_inputs, batch_size=64).map_batches(
        Predictor,
        fn_constructor_kwargs={"path": arguments.model},
        batch_size=64,
        concurrency=arguments.workers,
        num_cpus=1,
    )
    scored.write_parquet(arguments.folder)


if __name__ == "__main__":
    main()
