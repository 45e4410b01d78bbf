# SPDX-License-Identifier: Apache-2.0
"""The gradients of results that a backward pass begins with."""

from .. import _mge
from ..tensor import Tensor


def like_results(ys: list[Tensor], dys: list[Tensor] | None) -> list[Tensor] | None:
    """Gradients in the shapes of their results.

    Args:
        ys: the results.
        dys: their gradients, which may lack what broadcasting brings, or have axes of extent 1 in
            front; None: ones.
    Raises:
        RuntimeError: a shape does not broadcast to that of its result.
    """
    if dys is None:
        return None
    return [_like(y, dy) for y, dy in zip(ys, dys, strict=True)]


def _like(y: Tensor, dy: Tensor) -> Tensor:
    if not isinstance(dy, _mge.Tensor) or dy._meaning is not None or y._meaning is not None:
        return dy
    have, want = dy._tuple_shape, y._tuple_shape
    if have is None or want is None or have == want:
        return dy
    extra = len(have) - len(want)
    if extra > 0 and all(size == 1 for size in have[:extra]):
        dy = _mge.ops.reshape(dy, shape=list(have[extra:]))
    try:
        return _mge.ops.broadcast_to(dy, shape=list(want))
    except (RuntimeError, ValueError) as error:
        raise RuntimeError(
            f"[backward] the gradient of a result of shape {want} has shape {have}"
        ) from error
