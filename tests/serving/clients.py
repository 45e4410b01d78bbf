# SPDX-License-Identifier: Apache-2.0
"""Queries a server through tritonclient, over HTTP and gRPC, and compares bits.

    clients.py HTTP GRPC FOLDER [--binary]

FOLDER has MODEL.inputs.npz and MODEL.outputs.npz for each model.
"""

import sys
from pathlib import Path

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import np_to_triton_dtype


def infer(module, client, name, arrays, outputs, options):
    inputs = []
    for key, array in arrays.items():
        tensor = module.InferInput(key, array.shape, np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, **options)
        inputs.append(tensor)
    wanted = [module.InferRequestedOutput(key, **options) for key in outputs]
    answer = client.infer(name, inputs, outputs=wanted)
    return {key: answer.as_numpy(key) for key in outputs}


def main(http, grpc, folder, *flags):
    binary = {"binary_data": "--binary" in flags}
    http_client = tritonclient.http.InferenceServerClient(http.removeprefix("http://"))
    grpc_client = tritonclient.grpc.InferenceServerClient(grpc)
    compared = 0
    for path in sorted(Path(folder).glob("*.inputs.npz")):
        name = path.name.removesuffix(".inputs.npz")
        inputs = dict(np.load(path))
        outputs = dict(np.load(path.with_name(f"{name}.outputs.npz")))
        for module, client, options in (
            (tritonclient.http, http_client, binary),
            (tritonclient.grpc, grpc_client, {}),
        ):
            metadata = client.get_model_metadata(name)
            tensors = metadata["inputs"] if isinstance(metadata, dict) else metadata.inputs
            assert len(tensors) == len(inputs), metadata
            answers = infer(module, client, name, inputs, outputs, options)
            for key, expected in outputs.items():
                got = answers[key]
                assert got.dtype == expected.dtype, (name, key, got.dtype)
                assert got.shape == expected.shape, (name, key, got.shape)
                assert got.tobytes() == expected.tobytes(), (module.__name__, name, key)
            compared += 1
    print(compared, "answers")


if __name__ == "__main__":
    main(*sys.argv[1:])
