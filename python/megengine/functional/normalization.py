# SPDX-License-Identifier: Apache-2.0
"""Normalisation. Variances are population variances; statistics are float32."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.operands import as_list, is_whole
from ..core.processes import distributed
from ..core.tensor.dtype import is_bfloat16
from ..core.tensor.extents import extents, reshaped_with
from ..core.tensor.shape_arguments import as_int, known_or_symbolic
from ..tensor import Tensor
from .creation import as_tensor


def batch_norm(
    inp: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    training: bool = False,
    momentum: float = 0.9,
    eps: float = 1e-5,
    inplace: bool = True,
) -> Any:
    """Each channel normalised over the batch (Ioffe and Szegedy, 2015).

    Args:
        inp: (N, C, ...).
        running_mean, running_var: (1, C, 1, 1), needed unless ``training``.
        weight: (1, C, 1, 1) or None for ones.
        bias: (1, C, 1, 1) or None for zeros.
        training: normalise with the statistics of the batch, and update the running ones with
            the unbiased variance.
        momentum: weight of the old running statistics.
        eps: added to the variance.
        inplace: update the running statistics in place.
    Returns:
        Tensor of the shape of ``inp``; in training without ``inplace`` also the new running mean
        and variance, if one of them was given.
    Raises:
        IndexError: the rank of ``inp`` is below 2.
        AssertionError: not training, and a running statistic is missing.
        RuntimeError: a weight or statistic does not have one element per channel.
    Example:
        >>> x = F.ones((1, 1, 1, 1))
        >>> F.batch_norm(x, F.zeros_like(x), F.ones_like(x)).shape
        (1, 1, 1, 1)
    """
    inp = as_tensor(inp)
    assert training or (running_mean is not None and running_var is not None), (
        "[batch_norm] running_mean and running_var are needed unless training"
    )
    images = _as_images(inp, "batch_norm")
    shape = (1, images._tuple_shape[1], 1, 1)
    y, mean, var, _, _ = _mge.ops.batch_norm(
        images,
        _per_channel("weight", weight, 1.0, shape),
        _per_channel("bias", bias, 0.0, shape),
        _per_channel("running_mean", running_mean, 0.0, shape),
        _per_channel("running_var", running_var, 1.0, shape),
        training=bool(training),
        momentum=momentum,
        epsilon=eps,
    )
    y = _from_images(y, inp)
    if not training or (running_mean is None and running_var is None):
        return y
    if not inplace:
        return y, mean, var
    _update(running_mean, mean)
    _update(running_var, var)
    return y


def _update(old: Tensor | None, new: Tensor) -> None:
    """Put a new statistic into the tensor of the old one, in its shape and dtype."""
    if old is not None:
        new = new.detach().astype(old.dtype)
        kept = old._tuple_shape
        old[...] = new if kept == new._tuple_shape else _mge.ops.reshape(new, shape=kept)


def _per_channel(
    name: str, value: Tensor | None, default: float, shape: tuple[int, ...]
) -> Tensor | np.ndarray:
    """A weight or statistic of ``batch_norm`` as floats of a shape (1, C, 1, 1)."""
    if value is None:
        return np.full(shape, default, np.float32)
    elements = math.prod(value._tuple_shape)
    if elements != shape[1]:
        raise RuntimeError(
            f"[batch_norm] {name} has {counted(elements, 'element')}, the input"
            f" {counted(shape[1], 'channel')}"
        )
    value = value if value.dtype == np.float32 else value.astype("float32")
    return value if value._tuple_shape == shape else _mge.ops.reshape(value, shape=shape)


def _as_images(inp: Tensor, who: str) -> Tensor:
    """(N, C, ...) as (N, C, height, width), for all sizes that a trace may see."""
    if inp.ndim < 2:
        raise IndexError(f"[{who}] the input must have at least rank 2, got {inp.ndim}")
    if inp.ndim > 4:
        inp = _mge.ops.flatten(inp, start=3, end=inp.ndim - 1)
    return inp if inp.ndim == 4 else _mge.ops.add_axis(inp, axes=[*range(inp.ndim, 4)])


def _from_images(images: Tensor, inp: Tensor) -> Tensor:
    """The values in the shape of ``inp``, of which ``_as_images`` made images."""
    if inp.ndim > 4:
        return reshaped_with(images, extents(inp, 0))
    return images if inp.ndim == 4 else _mge.ops.remove_axis(images, axes=[*range(inp.ndim, 4)])


def _check_affine(affine: bool, weight: Tensor | None, bias: Tensor | None, who: str) -> None:
    assert not affine or weight is not None, f"[{who}] affine needs a weight"
    assert not affine or bias is not None, f"[{who}] affine needs a bias"


def sync_batch_norm(
    inp: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.9,
    eps: float = 1e-5,
    eps_mode: str = "additive",
    group: Any = None,
) -> Tensor:
    """``batch_norm`` with the statistics of all processes of a group.

    Args:
        inp: (N, C, ...); N may differ from process to process.
        running_mean, running_var, weight, bias, training, momentum, eps: as in ``batch_norm``.
        eps_mode: ``"additive"`` adds eps to the variance, ``"max"`` takes the larger of the two.
        group: the processes that take part; None: all.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        ValueError: ``eps_mode`` is unknown.
        TypeError: ``group`` is not a ``distributed.Group``.
    Example:
        >>> F.sync_batch_norm(F.ones((2, 1)), None, None, training=True).shape
        (2, 1)
    """
    inp = as_tensor(inp)
    if eps_mode.lower() not in ("additive", "max"):
        raise ValueError(f"[sync_batch_norm] eps_mode is 'additive' or 'max', got {eps_mode!r}")
    is_added = eps_mode.lower() == "additive"
    statistics = (running_mean, running_var, weight, bias)
    group = _others(group) if training else None
    if is_added and group is None:
        out: Tensor = batch_norm(
            inp, *statistics, training=training, momentum=float(momentum), eps=eps
        )
        return out
    images = _as_images(inp, "sync_batch_norm")
    out = _batch_norm_in_steps(images, *statistics, training, float(momentum), eps, is_added, group)
    return _from_images(out, inp)


def _others(group: Any) -> Any:
    """The group, if more than this process is in it."""
    together = distributed()
    if together is None or not together.is_distributed():
        return None
    group = together.group._as_group(group)
    return group if group.size > 1 else None


def _all_reduced(x: Tensor, group: Any) -> Tensor:
    together: Any = distributed()
    total: Tensor = together.functional.all_reduce_sum(x, group)
    return total


def _mean_and_variance(inp: Tensor, group: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of each channel, (1, C, 1, 1), over all processes of a group, and the
    number of elements."""
    shape = (1, inp._tuple_shape[1], 1, 1)

    def total(x: Tensor) -> Tensor:
        return x if group is None else _all_reduced(x, group)

    sums = _mge.ops.reshape(inp.sum((0, 2, 3)), shape=(shape[1],))
    mine = np.array([math.prod(inp._tuple_shape) // shape[1]], np.float32)
    sums = total(_mge.ops.concat(sums, mine))
    count = sums[-1:].detach()
    mean = _mge.ops.reshape(sums[:-1] / count, shape=shape)
    var = total(((inp - mean) ** 2).sum((0, 2, 3), keepdims=True)) / count
    return mean, var, count


def _batch_norm_in_steps(
    inp: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    is_added: bool,
    group: Any,
) -> Tensor:
    """``batch_norm`` of images, over the processes of a group."""
    shape, dtype = (1, inp._tuple_shape[1], 1, 1), inp.dtype
    inp = inp.astype("float32")
    if training:
        mean, var, count = _mean_and_variance(inp, group)
        unbiased = var * (count / _mge.ops.maximum(count - 1, 1))
        for old, new in ((running_mean, mean), (running_var, unbiased)):
            if old is not None:
                new = _mge.ops.reshape(new.detach(), shape=old._tuple_shape)
                old[...] = old * momentum + new * (1 - momentum)
    else:
        assert running_mean is not None and running_var is not None
        mean, var = (_mge.ops.reshape(s, shape=shape) for s in (running_mean, running_var))
    out = (inp - mean) * _mge.ops.rsqrt(var + eps if is_added else _mge.ops.maximum(var, eps))
    if weight is not None:
        out = out * _mge.ops.reshape(weight, shape=shape)
    if bias is not None:
        out = out + _mge.ops.reshape(bias, shape=shape)
    return out.astype(dtype)


def layer_norm(
    inp: Tensor,
    normalized_shape: int | Sequence[int],
    affine: bool,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each sample normalised over its last axes (Ba, Kiros and Hinton, 2016).

    Args:
        inp: any rank from 1.
        normalized_shape: the last axes' sizes.
        affine: apply ``weight`` and ``bias``.
        weight, bias: of the shape ``normalized_shape``.
        eps: added to the variance.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        AssertionError: ``affine`` without a weight or bias.
        RuntimeError: ``inp`` does not end in ``normalized_shape``.
    Example:
        >>> F.layer_norm(Tensor([[1.0, 3.0]]), 2, affine=False)
        Tensor([[-1.  1.]], device=xpux:0)
    """
    _check_affine(affine, weight, bias, "layer_norm")
    wanted: Any
    wanted, traced = known_or_symbolic(normalized_shape, "layer_norm")
    inp = as_tensor(inp)
    axes = len(wanted) if traced is None else traced._tuple_shape[0]
    sizes = inp._tuple_shape[-axes:] if wanted is None else tuple(wanted)
    if inp._tuple_shape[-axes:] != sizes:
        raise RuntimeError(f"[layer_norm] the input must end in {sizes}, got {inp._tuple_shape}")
    factors = (weight, bias) if affine else (None, None)
    return _mge.ops.layer_norm(inp, *factors, axes=axes, epsilon=eps)[0]


def group_norm(
    inp: Tensor,
    num_groups: int,
    affine: bool,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each sample normalised over groups of channels (Wu and He, 2018).

    Args:
        inp: (N, C, H, W).
        num_groups: number of groups, a divisor of C.
        affine: apply ``weight`` and ``bias``.
        weight, bias: (C,), or another shape with C elements.
        eps: added to the variance.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        AssertionError: ``affine`` without a weight or bias.
        RuntimeError: the rank is not 4, or ``num_groups`` does not divide C.
    Example:
        >>> F.group_norm(F.ones((1, 2, 1, 1)), 2, affine=False).shape
        (1, 2, 1, 1)
    """
    inp = as_tensor(inp)
    _check_affine(affine, weight, bias, "group_norm")
    if inp.ndim != 4:
        raise RuntimeError(f"[group_norm] the input must have rank 4, got {inp.ndim}")
    channels = inp._tuple_shape[1]
    num_groups = as_int(num_groups, "group_norm", "num_groups")
    if num_groups <= 0 or channels % num_groups != 0:
        raise RuntimeError(
            f"[group_norm] {counted(channels, 'channel')} cannot be cut into"
            f" {counted(num_groups, 'group')}"
        )
    factors = (_vector(weight, channels), _vector(bias, channels)) if affine else (None, None)
    return _mge.ops.group_norm(inp, *factors, groups=num_groups, epsilon=eps)[0]


def _vector(factor: Any, channels: int) -> Any:
    """A factor with one element per channel, in whatever shape, as a vector."""
    shape = factor._tuple_shape
    if len(shape) == 1 or math.prod(shape) != channels:
        return factor
    return _mge.ops.reshape(factor, shape=[channels])


def instance_norm(
    inp: Tensor,
    affine: bool,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample normalised (Ulyanov, Vedaldi and Lempitsky, 2016).

    Args:
        inp: (N, C, H, W).
        affine: apply ``weight`` and ``bias``.
        weight, bias: (C,), or another shape with C elements.
        eps: added to the variance.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        AssertionError: the rank is not 4, or ``affine`` without a weight or bias.
    Example:
        >>> F.instance_norm(F.ones((1, 2, 1, 1)), affine=False).shape
        (1, 2, 1, 1)
    """
    inp = as_tensor(inp)
    assert inp.ndim == 4, f"[instance_norm] the input must have rank 4, got {inp.ndim}"
    if not affine:  # without a number of channels, which may change in traces
        return _mge.ops.layer_norm(inp, axes=2, epsilon=eps)[0]
    return group_norm(inp, inp._tuple_shape[1], affine, weight, bias, eps)


def general_norm(
    inp: Tensor,
    normalized_axis: int | Sequence[int],
    affine: bool = True,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Values normalised over any axes.

    Args:
        inp: any rank from 1.
        normalized_axis: the axes.
        affine: apply ``weight`` and ``bias``.
        weight, bias: of the sizes of these axes.
        eps: added to the variance.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        AssertionError: an axis is out of range; ``affine`` without a weight or bias, or with some
            of other sizes.
    Example:
        >>> F.nn.general_norm(Tensor([1.0, 3.0]), 0, affine=False)
        Tensor([-1.  1.], device=xpux:0)
    """
    inp = as_tensor(inp)
    axes = [normalized_axis] if is_whole(normalized_axis) else normalized_axis
    axes = [
        as_int(axis, "general_norm", "normalized_axis")
        for axis in as_list(axes, "general_norm", "normalized_axis")
    ]
    for a in axes:
        assert -inp.ndim <= a < inp.ndim, f"[general_norm] axis {a}, the rank is {inp.ndim}"
    _check_affine(affine, weight, bias, "general_norm")
    axes = sorted(a % inp.ndim for a in axes)
    centred = _mge.ops.sub(inp, _mge.ops.mean(inp, axes=axes, keepdims=True))
    var = _mge.ops.mean(_mge.ops.square(centred), axes=axes, keepdims=True)
    out = _mge.ops.mul(centred, _mge.ops.rsqrt(_mge.ops.add(var, eps)))
    if is_bfloat16(inp.dtype) or inp.dtype == np.float16:
        out = out.astype(inp.dtype)
    if affine:
        shape = [n if a in axes else 1 for a, n in enumerate(inp._tuple_shape)]
        assert weight is not None and bias is not None
        for given in (weight, bias):
            assert math.prod(given._tuple_shape) == math.prod(shape), (
                f"[general_norm] a factor has shape {given._tuple_shape}, the axes {axes} of"
                f" {inp._tuple_shape}"
            )
        scale, shift = (_mge.ops.reshape(t, shape=shape) for t in (weight, bias))
        out = _mge.ops.add(_mge.ops.mul(out, scale), shift)
    return out


def local_response_norm(
    inp: Tensor, kernel_size: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> Tensor:
    """Each value divided by a power of the squares around it in other channels.

    Args:
        inp: (N, C, H, W).
        kernel_size: channels summed over, odd.
        k, alpha, beta: the divisor is (k + alpha * sum of squares) ** beta.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        RuntimeError: ``kernel_size`` is even.
    Example:
        >>> F.local_response_norm(F.ones((1, 3, 1, 1))).shape
        (1, 3, 1, 1)
    """
    inp = as_tensor(inp)
    if kernel_size % 2 == 0:
        raise RuntimeError(f"[local_response_norm] kernel_size must be odd, got {kernel_size}")
    channels = inp._tuple_shape[1]
    edge = min(kernel_size // 2, max(channels - 1, 0))  # beyond it there are only zeros
    squares = _mge.ops.pad(
        _mge.ops.square(inp),
        before=[0, edge, 0, 0],
        after=[0, edge, 0, 0],
        mode="constant",
        value=0.0,
    )
    total = squares[:, 0:channels]
    for at in range(1, 2 * edge + 1):
        total = _mge.ops.add(total, squares[:, at : at + channels])
    return _mge.ops.div(inp, _mge.ops.pow(_mge.ops.add(_mge.ops.mul(total, alpha), k), beta))
