# SPDX-License-Identifier: Apache-2.0
"""Old home of a few functions, and checks inside of graphs."""

import numpy as np

from ..tensor import Tensor
from .metric import topk_accuracy  # noqa: F401
from .tensor import copy  # noqa: F401


def _assert_equal(
    expect: Tensor, actual: Tensor, *, maxerr: float = 1e-4, verbose: bool = False
) -> Tensor:
    """Check that two tensors agree.

    Args:
        expect: what should be there.
        actual: what is there.
        maxerr: largest relative (for values above 1) or absolute error allowed.
        verbose: show the error.
    Returns:
        ``actual``.
    Raises:
        RuntimeError: they differ.
    """
    want, got = np.asarray(expect.numpy(), np.float64), np.asarray(actual.numpy(), np.float64)
    if want.shape != got.shape:
        raise RuntimeError(f"[assert_equal] shape {got.shape} instead of {want.shape}")
    error = np.abs(want - got) / np.maximum(1, np.minimum(np.abs(want), np.abs(got)))
    worst = float(error.max()) if error.size else 0.0
    if verbose:
        print(f"assert_equal: error {worst:.3g}")
    if not worst <= maxerr:
        raise RuntimeError(f"[assert_equal] error {worst:.3g}, allowed is {maxerr:.3g}")
    return actual
