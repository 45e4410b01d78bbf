# SPDX-License-Identifier: Apache-2.0
"""MLServer in this process, with raw tensors over gRPC that stay arrays."""

import contextlib

import numpy as np
from mlserver import MLServer
from mlserver.cli.serve import load_settings
from mlserver.grpc import dataplane_pb2
from mlserver.grpc import server as grpc_server
from mlserver.grpc.converters import ModelInferResponseConverter
from mlserver.grpc.servicers import InferenceServicer
from mlserver.grpc.utils import handle_mlserver_error
from mlserver.metrics import server as metrics_server
from mlserver.rest import server as rest_server
from mlserver.types import InferenceRequest, TensorData
from mlserver.utils import install_uvloop_event_loop

from .mlserver_runtime import WANTS_ARRAYS, refusal
from .protocol import DTYPES


class ArrayServicer(InferenceServicer):
    """Answers requests with raw tensors without a Python number for each element.

    A tensor whose bytes do not fit its shape or type is the client's error.
    """

    @handle_mlserver_error
    async def ModelInfer(self, request, context):  # noqa: N802
        """Answer a request."""
        raw = list(request.raw_input_contents)
        if not raw:
            return await InferenceServicer.ModelInfer(self, request, context)
        del request.raw_input_contents[:]
        payload = self._InsertHeaders(request, context)
        _set_arrays(payload, raw)
        result = await self._data_plane.infer(
            payload=payload, name=request.model_name, version=request.model_version
        )
        arrays = [output.data.root for output in result.outputs]
        for output in result.outputs:
            output.data = TensorData(root=[])
        self._SetTrailingMetadata(result, context)
        response: dataplane_pb2.ModelInferResponse = ModelInferResponseConverter.from_types(result)
        response.raw_output_contents.extend(
            np.asarray(array, DTYPES[getattr(output.datatype, "value", output.datatype)]).tobytes()
            for array, output in zip(arrays, result.outputs, strict=True)
        )
        return response


def _set_arrays(payload: InferenceRequest, raw: list[bytes]) -> None:
    if len(raw) != len(payload.inputs):
        raise refusal(f"{len(payload.inputs)} inputs have {len(raw)} raw contents")
    for tensor, content in zip(payload.inputs, raw, strict=True):
        if tensor.datatype not in DTYPES:
            raise refusal(f"input {tensor.name!r} has datatype {tensor.datatype!r}")
        try:
            array = np.frombuffer(content, DTYPES[tensor.datatype])
        except ValueError as error:
            raise refusal(f"input {tensor.name!r}: {error}") from None
        tensor.data = TensorData.model_construct(root=array)
    setattr(payload.parameters, WANTS_ARRAYS, True)


async def serve_folder(folder: str) -> bool:
    """Serve a model repository until a signal.

    Args:
        folder: of the repository.
    Returns:
        False if a model could not be loaded.
    """
    # MLServer has no settings for these.
    grpc_server.InferenceServicer = ArrayServicer
    for module in (rest_server, metrics_server):
        # Newer releases of uvicorn catch signals here, and raise them again at their end.
        module._NoSignalServer.capture_signals = lambda self: contextlib.nullcontext()
    settings, models = await load_settings(folder)
    server = MLServer(settings)
    await server.start(models)
    return any(await server._model_registry.get_models())


__all__ = ["ArrayServicer", "install_uvloop_event_loop", "serve_folder"]
