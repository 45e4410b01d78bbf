# SPDX-License-Identifier: Apache-2.0
"""Recorded calls of functions, traced: each function is seen, and the graph gives what it gave."""

import numpy as np
import pytest
from oracle import Reader, decode, resolve, tensors_in

import megengine as mge
import megengine.module as M
from megengine.traced_module import trace_module

READER = Reader("functional_cases")
FIRST = {}
for _row in READER.rows:
    if not {"crash", "unstable", "error"} & _row.keys():
        FIRST.setdefault(_row["fn"], _row)


class Call(M.Module):
    def __init__(self, function):
        super().__init__()
        self.function = (function,)

    def forward(self, *args, **kwargs):
        return self.function[0](*args, **kwargs)


def arguments(row):
    args = [decode(value, READER, []) for value in row["args"]]
    return args, {key: decode(value, READER, []) for key, value in row.get("kwargs", {}).items()}


def numbers(tensor):
    return (tensor if tensor._is_complex else tensor.astype("float32")).numpy()


@pytest.mark.parametrize("group", sorted({name.rpartition(".")[0] for name in FIRST}))
def test_functions(group):
    for name, row in FIRST.items():
        if name.rpartition(".")[0] != group:
            continue
        args, kwargs = arguments(row)
        mge.random.seed(3)
        want = tensors_in(resolve(name)(*args, **kwargs))
        if not want:
            continue  # a number, None, ...
        args, kwargs = arguments(row)
        traced = trace_module(Call(resolve(name)), *args, **kwargs)
        args, kwargs = arguments(row)
        mge.random.seed(3)
        for one, other in zip(tensors_in(traced(*args, **kwargs)), want, strict=True):
            np.testing.assert_allclose(
                numbers(one),
                numbers(other),
                rtol=1e-5,
                atol=1e-6,
                err_msg=name,
            )
        kinds = {type(expr).__name__ for expr in traced.graph._exprs}
        assert not args or "Constant" not in kinds, f"{name}: {traced.graph}"
