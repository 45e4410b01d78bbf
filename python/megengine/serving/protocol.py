# SPDX-License-Identifier: Apache-2.0
"""Tensors in the JSON of the Open Inference Protocol."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .model import PROTOCOL_NAMES, ServedModel, TensorInfo, array_of

DTYPES = {name: dtype for dtype, name in PROTOCOL_NAMES.items()}


def arrays_of(
    model: ServedModel, inputs: Iterable[tuple[str, str, list[int], Any]]
) -> dict[str, np.ndarray]:
    """Check and convert the inputs of a request.

    Args:
        model: the model that they are for.
        inputs: name, datatype, shape and data of each input.
    Returns:
        Arrays by name.
    Raises:
        ValueError: an input does not fit.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, datatype, shape, data in inputs:
        if name in arrays:
            raise ValueError(f"input {name!r} is given twice")
        if datatype not in DTYPES:
            raise ValueError(f"input {name!r} has datatype {datatype!r}")
        dtype = np.dtype(DTYPES[datatype])
        # Before the data are looked at: the sizes may be anything.
        model.check(name, dtype, shape)
        try:
            arrays[name] = array_of(data, dtype, shape)
        except ValueError as error:
            raise ValueError(f"input {name!r}: {error}") from None
    return arrays


def wanted_outputs(model: ServedModel, names: list[str]) -> list[str]:
    """Return the names of the outputs that a request gets.

    Args:
        model: the model.
        names: those that the request names; empty: all.
    Raises:
        ValueError: the model has no such output.
    """
    known = [info.name for info in model.outputs]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"there is no output {unknown[0]!r}; outputs are {', '.join(known)}")
    return names or known


def decode_request(model: ServedModel, body: Any) -> tuple[dict[str, np.ndarray], int, list[str]]:
    """Read a request's JSON.

    Args:
        model: the model that it is for.
        body: the decoded JSON.
    Returns:
        The inputs, their number of rows, and the names of the outputs.
    Raises:
        ValueError: it is not a request, or does not fit the model.
    """
    try:
        given = [
            (
                str(one["name"]),
                str(one["datatype"]),
                [int(size) for size in one["shape"]],
                one["data"],
            )
            for one in body["inputs"]
        ]
        names = [str(one["name"]) for one in body.get("outputs") or ()]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise ValueError("a request has inputs with name, datatype, shape and data") from None
    names = wanted_outputs(model, names)
    arrays = arrays_of(model, given)
    return arrays, model.rows(arrays), names


def encode_response(name: str, outputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return a response as JSON has it.

    Args:
        name: the model's name.
        outputs: the outputs by name; NaN and infinities become None.
    """
    return {
        "model_name": name,
        "outputs": [
            {
                "name": key,
                "datatype": TensorInfo(key, value.dtype, value.shape).datatype,
                "shape": list(value.shape),
                "data": [n if math.isfinite(n) else None for n in value.ravel().tolist()],
            }
            for key, value in outputs.items()
        ],
    }
