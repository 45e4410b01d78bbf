# SPDX-License-Identifier: Apache-2.0
"""The runtime for MLServer: models behind the Open Inference Protocol, over HTTP and gRPC."""

import asyncio
import time
from typing import Any

import numpy as np
from mlserver import MLModel, ModelSettings
from mlserver.errors import InferenceError
from mlserver.types import (
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    Parameters,
    RequestInput,
    ResponseOutput,
    TensorData,
)
from mlserver.utils import get_model_uri, to_absolute_path

from .batching import Batcher
from .metrics import ModelMetrics
from .model import ServedModel, TensorInfo
from .protocol import arrays_of, wanted_outputs

# gRPC carries messages in headers, which clients limit.
_MAX_MESSAGE = 1000
# A parameter of requests whose answer may have arrays instead of lists.
WANTS_ARRAYS = "mge_wants_arrays"


class MGERuntime(MLModel):
    """Serves a ``.mge``, ONNX or MegEngine file.

    ``model-settings.json`` names the class as ``implementation``, and the model as
    ``parameters.uri``. Its ``max_batch_size`` (rows) and ``max_batch_time`` (seconds) control the
    batching, which is on for models with a batch dimension. ``parameters.extra`` may have
    ``key_file``, ``threads``, ``device`` and ``fast_run_cache``, see ServedModel.

    Args:
        settings: the content of ``model-settings.json``.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        extra = (settings.parameters and settings.parameters.extra) or {}
        # MLServer's own batches would join requests before they are checked, so that one bad
        # request fails the others. Worker processes get the settings from this object.
        if settings.max_batch_size or settings.max_batch_time:
            extra["max_batch"] = settings.max_batch_size
            extra["max_delay"] = settings.max_batch_time
            settings.max_batch_size = settings.max_batch_time = 0
            settings.parameters.extra = extra
        self._extra = extra

    async def load(self) -> bool:
        """Load the model and warm it up; the server is ready afterwards."""
        path = await get_model_uri(self.settings)
        options: dict[str, Any] = {
            name: to_absolute_path(self.settings, self._extra[name])
            for name in ("key_file", "fast_run_cache")
            if self._extra.get(name)
        }
        options["device"] = self._extra.get("device") or "cpu"
        options["threads"] = int(self._extra.get("threads") or 0)
        options["max_batch"] = int(self._extra.get("max_batch") or 0) or None
        loop = asyncio.get_running_loop()
        self._model = await loop.run_in_executor(None, lambda: ServedModel(path, **options))
        self.inputs = [_metadata(info) for info in self._model.inputs]
        self.outputs = [_metadata(info) for info in self._model.outputs]
        self._metrics = ModelMetrics(self.name, self.version or "")
        self._batcher = Batcher(
            self._run,
            self._model.batch_sizes,
            self._model.max_batch,
            float(self._extra.get("max_delay") or 0),
            self._observe,
        )
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Answer a request.

        Args:
            payload: the request.
        Returns:
            Its outputs.
        Raises:
            InferenceError: the request does not fit the model (HTTP 400, gRPC INVALID_ARGUMENT).
        """
        start = time.perf_counter()
        try:
            wanted = wanted_outputs(self._model, [one.name for one in payload.outputs or ()])
            arrays = arrays_of(self._model, map(_description, payload.inputs))
            rows = self._model.rows(arrays)
            outputs = await self._batcher(arrays, rows)
        except (ValueError, RuntimeError) as error:
            self._metrics.refused.inc()
            raise refusal(str(error)) from None
        self._metrics.request.observe(time.perf_counter() - start)
        as_arrays = bool(getattr(payload.parameters, WANTS_ARRAYS, False))
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[_response(name, outputs[name], as_arrays) for name in wanted],
        )

    async def unload(self) -> bool:
        """Release the model."""
        if batcher := getattr(self, "_batcher", None):
            batcher.close()
            del self._batcher, self._model
        return True

    def _run(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        before = self._model.plan_cache_misses
        try:
            return self._model.run(arrays)
        finally:
            self._metrics.misses.inc(self._model.plan_cache_misses - before)

    def _observe(self, rows: int, waits: list[float]) -> None:
        self._metrics.batch.observe(rows)
        for wait in waits:
            self._metrics.queue.observe(wait)


def refusal(message: str) -> InferenceError:
    """Return the error of a request that does not fit: HTTP 400, gRPC INVALID_ARGUMENT.

    Args:
        message: says why; it may contain names of any length from the request.
    """
    return InferenceError(message[:_MAX_MESSAGE])


def _description(given: RequestInput) -> tuple[str, str, list[int], Any]:
    datatype = getattr(given.datatype, "value", given.datatype)
    return given.name, datatype, given.shape, getattr(given.data, "root", given.data)


def _metadata(info: TensorInfo) -> MetadataTensor:
    return MetadataTensor(
        name=info.name,
        datatype=info.datatype,
        shape=info.sizes,
        parameters=Parameters(dimensions=info.dimensions),
    )


def _response(name: str, value: np.ndarray, as_arrays: bool) -> ResponseOutput:
    return ResponseOutput(
        name=name,
        datatype=TensorInfo(name, value.dtype, value.shape).datatype,
        shape=list(value.shape),
        data=TensorData.model_construct(root=value if as_arrays else value.ravel().tolist()),
    )
