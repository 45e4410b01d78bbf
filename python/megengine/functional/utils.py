# SPDX-License-Identifier: Apache-2.0
"""Old home of a few functions, and checks inside of graphs."""

from .. import _mge
from ..tensor import Tensor
from .metric import topk_accuracy  # noqa: F401
from .tensor import copy  # noqa: F401


def _assert_equal(
    expect: Tensor, actual: Tensor, *, maxerr: float = 1e-4, verbose: bool = False
) -> Tensor:
    """Check that two tensors agree, in each run of a traced function as well.

    Args:
        expect: the expected values.
        actual: the actual values.
        maxerr: largest allowed error, relative for values above 1, else absolute.
        verbose: print the error to standard error.
    Returns:
        ``expect``.
    Raises:
        RuntimeError: they differ.
    """
    error = _mge.ops.assert_equal(expect, actual, max_error=maxerr, verbose=verbose)
    # A variable of a Network is computed if an output needs it, so the result needs the check.
    is_variable = getattr(error, "graph", None) is not None
    return _mge.ops.wait_for(expect, error) if is_variable else expect


def _simulate_error() -> Tensor:
    """Let an operator fail.

    Raises:
        RuntimeError: always.
    """
    return _assert_equal(Tensor([0.0]), Tensor([1.0]), maxerr=0.0)


def _sync() -> None:
    """Wait until the default device has done its work; a CPU has when the calls have returned.

    Raises:
        RuntimeError: something went wrong in that work; the text names the operator.
    """
    _mge.synchronize()
