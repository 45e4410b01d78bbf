# SPDX-License-Identifier: Apache-2.0
"""The gradients of results that a backward pass begins with."""

from .. import _mge
from ..tensor import Tensor


def distinct_results(
    ys: list[Tensor], dys: list[Tensor] | None
) -> tuple[list[Tensor], list[Tensor] | None]:
    """Returns each result once, with its gradient in its shape.

    Args:
        ys: the results; if one is given several times, the last one counts, as in MegEngine.
        dys: their gradients, in shapes that broadcast to the results', or with leading axes of size
            1; None: ones.
    Raises:
        RuntimeError: a shape does not broadcast to that of its result.
    """
    if dys is not None:
        dys = [_like(y, dy) for y, dy in zip(ys, dys, strict=True)]
    if len(ys) < 2:
        return ys, dys
    last = {id(y): place for place, y in enumerate(ys)}.values()
    if dys is not None:
        dys = [dys[place] for place in last]
    return [ys[place] for place in last], dys


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
