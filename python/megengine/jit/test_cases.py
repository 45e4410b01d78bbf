# SPDX-License-Identifier: Apache-2.0
"""Test cases for dumped models, as texts: random numbers or files, per input."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.opencv import opencv

_RANDOM = re.compile(r"#rand\((.*)\)")


class ModelInput(NamedTuple):
    """An input of a model; the shape is None if it is known only at run time."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str


class Reading(NamedTuple):
    """How to convert files to arrays.

    Args:
        repeat: number of repetitions of a file's batch along the first axis.
        transform: Python expression over ``data``, applied to each array; None: no transform.
        resize: resize images to the size of the input.
    """

    repeat: int = 1
    transform: str | None = None
    resize: bool = False


def read_test_cases(
    input_data, inputs: list[ModelInput], reading: Reading
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Name and input arrays of each test case.

    Args:
        input_data: a string or several; None: no test cases. ``@file`` means the lines of the file.
        inputs: the inputs in order.
        reading: how to convert files to arrays.
    Raises:
        ValueError: a string has another form, or names an unknown input.
    """
    for number, text in enumerate(_texts(input_data)):
        parts = _parts(text, [one.name for one in inputs])
        yield f"case_{number}", [_read(parts[one.name], one, reading) for one in inputs]


def _texts(input_data) -> Iterator[str]:
    if input_data is None:
        return
    for text in [input_data] if isinstance(input_data, str) else input_data:
        if not isinstance(text, str):
            raise TypeError(
                "[dump] input_data is a list of texts as in 'x:image.png;y:#rand(0,1)', got"
                f" {type(text).__name__}"
            )
        if text.startswith("@"):
            lines = Path(text[1:]).read_text().splitlines()
            yield from (line.strip() for line in lines if line.strip())
        else:
            yield text


def _parts(text: str, names: list[str]) -> dict[str, str]:
    """The source of each input; random numbers without a name apply to all of them."""
    if text.startswith("#") and ";" not in text:
        return dict.fromkeys(names, text.strip())
    parts = {}
    for part in text.split(";"):
        name, colon, source = part.partition(":")
        if not colon:
            if len(names) != 1:
                raise ValueError(f"[dump] input_data {text!r}: say which input, as in name:file")
            name, source = names[0], part
        parts[name.strip()] = source.strip()
    if set(parts) != set(names):
        raise ValueError(
            f"[dump] input_data {text!r} has {sorted(parts)}, the inputs are {sorted(names)}"
        )
    return parts


def _read(source: str, given: ModelInput, reading: Reading) -> np.ndarray:
    found = _RANDOM.fullmatch(source)
    data = _random(source, found.group(1), given) if found else _from_file(source, given, reading)
    if given.shape == () and data.size == 1:
        data = data.reshape(())  # the number of a scalar, which is a vector to MegEngine
    if given.shape is not None and data.ndim != len(given.shape):
        raise ValueError(
            f"[dump] {source!r} has shape {data.shape}, the input {given.name} {given.shape}"
        )
    if reading.transform is not None:
        # The caller's own expression.
        data = eval(reading.transform, {"data": data, "np": np})
    if not found and reading.repeat != 1:
        data = np.repeat(data, reading.repeat, axis=0)
    return np.asarray(data, given.dtype, order="C")


def _random(source: str, arguments: str, given: ModelInput) -> np.ndarray:
    texts = [text.strip() for text in arguments.split(",")]
    shape = texts[2:] or ["..."]
    if shape[-1] == "...":
        if given.shape is None:
            raise ValueError(f"[dump] {source!r}: the input {given.name} has no shape; give one")
        shape = shape[:-1] + list(given.shape[len(shape) - 1 :])
    try:
        low, high = map(float, texts[:2])
        extents = [int(extent) for extent in shape]
    except ValueError as error:
        raise ValueError(
            f"[dump] {source!r}: expected #rand(min,max) or #rand(min,max,shape…)"
        ) from error
    return np.random.default_rng().uniform(low, high, extents)


def _from_file(path: str, given: ModelInput, reading: Reading) -> np.ndarray:
    if not path.endswith(".npy"):
        image = _image(path, given, reading.resize)
        if image is not None:
            return image
    try:
        return np.load(path)
    except ValueError as error:
        raise ValueError(
            f"[dump] {path!r} is neither #rand(min,max,shape…) nor an image nor a .npy file"
        ) from error


def _image(path: str, given: ModelInput, is_resized: bool) -> np.ndarray | None:
    """An image of BGR or grey, channels first or last and with a batch as the input has it."""
    cv2 = opencv()
    data = cv2.imread(path, cv2.IMREAD_COLOR)
    if data is None:
        return None
    shape = (1, 3, *data.shape[:2]) if given.shape is None else given.shape
    kinds = [shape[-3], shape[-1]] if len(shape) in (3, 4) else []
    channels = next((count for count in kinds if count in (1, 3)), None)
    if channels is None:
        raise ValueError(f"[dump] {path!r} is an image, the input {given.name} has shape {shape}")
    is_first = shape[-3] == channels
    height, width = shape[-2:] if is_first else shape[-3:-1]
    if is_resized:
        data = cv2.resize(data, (width, height))
    if channels == 1:
        data = cv2.cvtColor(data, cv2.COLOR_BGR2GRAY)[..., None]
    if is_first:
        data = data.transpose(2, 0, 1)
    return data[None] if len(shape) == 4 else data
