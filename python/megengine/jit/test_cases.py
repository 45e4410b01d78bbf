# SPDX-License-Identifier: Apache-2.0
"""Test cases for dumped models, as texts: random numbers or files, per input."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_RANDOM = re.compile(r"#rand\((.*)\)")


def read_test_cases(
    input_data, input_names: list[str], repeat: int, input_transform: str | None
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Name and input arrays of each test case.

    Args:
        input_data: a text or several; None for no test cases. ``@file`` stands for the lines of it.
        input_names: the inputs, in their order.
        repeat: how often each case comes.
        input_transform: Python expression over ``data`` applied to each array.
    Raises:
        ValueError: a text has another form, or names other inputs than there are.
    """
    number = 0
    for text in _texts(input_data):
        arrays = _case_arrays(text, input_names, input_transform)
        for _ in range(repeat):
            yield f"case_{number}", arrays
            number += 1


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


def _case_arrays(text: str, names: list[str], transform: str | None) -> list[np.ndarray]:
    parts = {}
    for part in text.split(";"):
        name, colon, source = part.partition(":")
        if not colon:
            if len(names) != 1:
                raise ValueError(f"[dump] input_data {text!r}: say which input, as in name:file")
            name, source = names[0], part
        parts[name.strip()] = _read(source.strip(), transform)
    if set(parts) != set(names):
        raise ValueError(
            f"[dump] input_data {text!r} has {sorted(parts)}, the inputs are {sorted(names)}"
        )
    return [parts[name] for name in names]


def _read(source: str, transform: str | None) -> np.ndarray:
    found = _RANDOM.fullmatch(source)
    if found:
        numbers = [float(number) for number in found.group(1).split(",")]
        if len(numbers) < 3:
            raise ValueError(f"[dump] {source!r}: expected #rand(min,max,shape…)")
        shape = [int(n) for n in numbers[2:]]
        data = np.random.default_rng().uniform(numbers[0], numbers[1], shape).astype(np.float32)
    elif source.endswith(".npy"):
        data = np.load(source)
    else:
        raise ValueError(f"[dump] {source!r} is neither #rand(min,max,shape…) nor a .npy file")
    if transform is not None:
        data = eval(transform, {"data": data, "np": np})  # the caller's own expression
    return np.ascontiguousarray(data)
