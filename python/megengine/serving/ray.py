# SPDX-License-Identifier: Apache-2.0
"""Models in Ray: a class for ``Dataset.map_batches``, and a deployment for Ray Serve."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .batching import Batcher
from .model import ServedModel
from .protocol import decode_request, encode_response


class Predictor:
    """Adds a model's outputs to the batches of a data set; each actor loads the model once.

    Args:
        path: a model file with a batch dimension, which every node can read.
        columns: the column of each input; default: the column of the input's name.
        key_file: the key of an encrypted model.
        threads: CPU threads of an actor; give Ray the same number as ``num_cpus``.
        max_batch: largest number of rows of a run.
    Raises:
        RuntimeError: the model cannot be loaded.
        ValueError: it has no batch dimension.
    Example:
        >>> options = {"path": "flowers.mge"}
        >>> scored = data.map_batches(
        ...     Predictor, fn_constructor_kwargs=options, concurrency=2, num_cpus=1
        ... )  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | Path,
        columns: Mapping[str, str] | None = None,
        key_file: str | Path | None = None,
        threads: int = 1,
        max_batch: int | None = None,
    ) -> None:
        self._model = ServedModel(path, key_file, threads, max_batch=max_batch)
        self._model.require_batch()
        names = [info.name for info in self._model.inputs]
        self._columns = {name: (columns or {}).get(name, name) for name in names}

    @property
    def input_names(self) -> list[str]:
        """The names of the model's inputs."""
        return list(self._columns)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute a batch.

        Args:
            batch: arrays by the names of columns.
        Returns:
            The columns that are not inputs, and the outputs.
        Raises:
            KeyError: a column is missing.
            ValueError: a column does not fit the model.
        """
        arrays = {
            info.name: _as_array(batch[self._columns[info.name]], info.dtype)
            for info in self._model.inputs
        }
        kept = {
            name: column for name, column in batch.items() if name not in self._columns.values()
        }
        return kept | self._model.run_rows(arrays)


def _as_array(column: Any, dtype: np.dtype) -> np.ndarray:
    """A column whose rows may be arrays of their own."""
    array = np.asarray(column)
    if array.dtype == object:
        array = np.stack([np.asarray(row) for row in array])
    return array.astype(dtype, casting="same_kind", copy=False)


def deployment(
    path: str | Path,
    name: str = "model",
    replicas: int = 1,
    max_batch: int | None = None,
    max_delay: float = 0.0,
    **options: Any,
) -> Any:
    """Return an application for ``ray.serve.run`` that speaks the Open Inference Protocol.

    Every path of the application takes the JSON of an inference request. Other deployments call
    ``handle.predict.remote(arrays)``.

    Args:
        path: a model file that every node can read.
        name: the model's name in responses.
        replicas: number of replicas.
        max_batch: largest number of rows of a batch; None: the default of ServedModel.
        max_delay: milliseconds that a request waits for a full batch.
        options: ``key_file``, ``threads`` and ``fast_run_cache`` of ServedModel.
    Example:
        >>> app = deployment("flowers.mge", replicas=2)  # doctest: +SKIP
        >>> serve.run(app, route_prefix="/flowers")  # doctest: +SKIP
    """
    # Here because Predictor needs no part of Ray.
    from ray import serve
    from starlette.responses import JSONResponse

    class ModelDeployment:
        """One replica: a model and its batches."""

        def __init__(self) -> None:
            self._model = ServedModel(path, max_batch=max_batch, **options)
            self._batcher = Batcher(
                self._model.run, self._model.batch_sizes, self._model.max_batch, max_delay / 1000
            )

        async def __call__(self, request: Any) -> Any:
            try:
                arrays, rows, wanted = decode_request(self._model, await request.json())
                outputs = await self._batcher(arrays, rows)
            except (ValueError, RuntimeError) as error:
                return JSONResponse({"error": str(error)}, status_code=400)
            return encode_response(name, {key: outputs[key] for key in wanted})

        async def predict(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            """The outputs of one request."""
            for key, array in arrays.items():
                self._model.check(key, array.dtype, array.shape)
            return await self._batcher(arrays, self._model.rows(arrays))

    made = serve.deployment(
        ModelDeployment, name=name, num_replicas=replicas, max_ongoing_requests=1000
    )
    return made.bind()
