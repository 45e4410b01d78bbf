# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded calls of functions, forward and backward."""

import numpy as np
import pytest
from known_differences import CASES
from oracle import Reader, check_case

import megengine.functional as F
from megengine import Tensor
from megengine.jit import trace

READER = Reader("functional_cases")
ROWS = {}
for _row in READER.rows:
    if "crash" not in _row and "unstable" not in _row:
        ROWS.setdefault(_row["fn"], []).append(_row)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_function_answers_as_recorded(name):
    wrong = []
    for row in ROWS[name]:
        text = check_case(row, READER)
        if row["id"] in CASES:
            if text is None:
                wrong.append(f"{row['id']} is listed as different, but agrees")
        elif text:
            wrong.append(f"{row['id']}: {text}")
    assert not wrong, "\n".join(wrong)


def test_every_listed_case_exists():
    known = {row["id"] for rows in ROWS.values() for row in rows}
    assert set(CASES) <= known


# Results of MegEngine 1.13.
@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (lambda x: F.max_pool2d(x, 2), [[-6, -4], [4, 6]]),
        (lambda x: F.avg_pool2d(x, 2), [[-9, -7], [1, 3]]),
        (lambda x: F.avg_pool2d(x, 2, 4, 1, mode="average"), [[-3, -4], [2, 9]]),
        (lambda x: F.adaptive_max_pool2d(x, 2), [[0, 2], [10, 12]]),
        (lambda x: F.adaptive_avg_pool2d(x, 2), [[-6, -4], [4, 6]]),
    ],
)
def test_bytes_are_pooled(pool, expected):
    x = Tensor(np.arange(-12, 13, dtype="int8").reshape(1, 1, 5, 5))
    for _ in range(2):
        got = pool(x)
        assert got.dtype == np.int8
        np.testing.assert_array_equal(got[0, 0], expected)
        pool = trace(symbolic=True)(pool)
