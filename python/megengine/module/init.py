# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters. Each function changes the tensor in place and returns None."""

import math

from .. import functional as F
from .. import random
from ..core.tensor.dtype import is_dtype_equal
from ..tensor import Tensor


def fill_(tensor: Tensor, val: float) -> None:
    """Set all elements to a value.

    Args:
        tensor: tensor to change.
        val: the value.
    Example:
        >>> x = Tensor([1.0, 2.0])
        >>> init.fill_(x, 3.0)
        >>> x
        Tensor([3. 3.], device=xpux:0)
    """
    tensor._reset(F.full(tensor._tuple_shape, val, dtype=tensor.dtype, device=tensor.device))


def zeros_(tensor: Tensor) -> None:
    """Set all elements to zero.

    Example:
        >>> w = Parameter([1.0, 2.0])
        >>> zeros_(w)
        >>> w
        Parameter([0. 0.], device=xpux:0)
    """
    fill_(tensor, 0)


def ones_(tensor: Tensor) -> None:
    """Set all elements to one.

    Example:
        >>> w = Parameter([1.0, 2.0])
        >>> ones_(w)
        >>> w
        Parameter([1. 1.], device=xpux:0)
    """
    fill_(tensor, 1)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> None:
    """Draw from the uniform distribution on [a, b).

    Args:
        tensor: tensor to change.
        a: lower bound.
        b: upper bound.
    Example:
        >>> w = Parameter(F.zeros((2, 3)))
        >>> uniform_(w, -1, 1)
        >>> bool((abs(w) <= 1).min())
        True
    """
    if not tensor.size:
        return
    drawn = random.uniform(low=a, high=b, size=tensor._tuple_shape)
    tensor._reset(_like(drawn, tensor))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> None:
    """Draw from a normal distribution.

    Args:
        tensor: tensor to change.
        mean: its mean.
        std: its standard deviation.
    Example:
        >>> w = Parameter(F.zeros((2, 3)))
        >>> normal_(w, std=0.1)
        >>> w.shape
        (2, 3)
    """
    drawn = random.normal(mean=mean, std=std, size=tensor._tuple_shape)
    tensor._reset(_like(drawn, tensor))


def _like(drawn: Tensor, tensor: Tensor) -> Tensor:
    drawn = drawn if is_dtype_equal(drawn.dtype, tensor.dtype) else drawn.astype(tensor.dtype)
    return drawn if drawn.device == tensor.device else drawn.to(tensor.device)


def root_of_ratio(variance: float, fan: float) -> float:
    """sqrt(variance / fan); 0 for a fan of 0, because such a weight has no elements.

    Example:
        >>> init.root_of_ratio(1.0, 4), init.root_of_ratio(1.0, 0)
        (0.5, 0.0)
    """
    return math.sqrt(variance / fan) if fan else 0.0


_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")
_LINEAR = (*_LINEAR, "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Factor of the standard deviation that keeps the variance through an activation.

    Args:
        nonlinearity: ``"linear"``, ``"conv2d"`` …, ``"sigmoid"``, ``"tanh"``, ``"relu"`` or
            ``"leaky_relu"``.
        param: slope of ``"leaky_relu"``; None: 0.01.
    Returns:
        The factor.
    Raises:
        ValueError: the name is unknown, or the slope is not a number.
    Example:
        >>> init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[float, float]:
    """Number of values that each output and each input of a weight is connected to.

    Args:
        tensor: weight of a linear map (rank 2) or a convolution, grouped ones of rank 5 or more.
    Returns:
        Fan-in and fan-out.
    Raises:
        ValueError: the rank is below 2.
    Example:
        >>> init.calculate_fan_in_and_fan_out(F.zeros((4, 3)))
        (3, 4)
    """
    shape = tensor._tuple_shape
    if len(shape) < 2:
        raise ValueError(
            "fan_in and fan_out can not be computed for tensor with fewer than 2 dimensions"
        )
    if len(shape) >= 5:  # the weight of a grouped convolution
        shape = shape[1:]
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def calculate_correct_fan(tensor: Tensor, mode: str) -> float:
    """Fan-in or fan-out.

    Args:
        tensor: weight.
        mode: ``"fan_in"`` or ``"fan_out"``.
    Returns:
        The number.
    Raises:
        ValueError: the mode is unknown, or the rank is below 2.
    Example:
        >>> calculate_correct_fan(F.ones((8, 3, 5, 5)), "fan_in")
        75
    """
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> None:
    """Uniform values with the variance of Glorot and Bengio (2010).

    Args:
        tensor: weight to change.
        gain: factor, see ``calculate_gain``.
    Example:
        >>> w = Parameter(F.zeros((4, 3)))
        >>> xavier_uniform_(w)
        >>> bool(abs(w).sum() > 0)
        True
    """
    bound = gain * root_of_ratio(6.0, sum(calculate_fan_in_and_fan_out(tensor)))
    uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> None:
    """Normal values with the variance of Glorot and Bengio (2010); see ``xavier_uniform_``.

    Example:
        >>> w = Parameter(F.zeros((4, 3)))
        >>> xavier_normal_(w)
        >>> bool(abs(w).sum() > 0)
        True
    """
    normal_(tensor, 0.0, gain * root_of_ratio(2.0, sum(calculate_fan_in_and_fan_out(tensor))))


def msra_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Uniform values with the variance of He et al. (2015).

    Args:
        tensor: weight to change.
        a: slope of the activation.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: see ``calculate_gain``.
    Example:
        >>> w = Parameter(F.zeros((4, 3)))
        >>> msra_uniform_(w)
        >>> bool(abs(w).sum() > 0)
        True
    """
    bound = math.sqrt(3.0) * _msra_std(tensor, a, mode, nonlinearity)
    uniform_(tensor, -bound, bound)


def msra_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Normal values with the variance of He et al. (2015); see ``msra_uniform_``.

    Example:
        >>> w = Parameter(F.zeros((4, 3)))
        >>> msra_normal_(w)
        >>> bool(abs(w).sum() > 0)
        True
    """
    normal_(tensor, 0.0, _msra_std(tensor, a, mode, nonlinearity))


def _msra_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = calculate_correct_fan(tensor, mode)
    gain = calculate_gain(nonlinearity, a)
    return gain / math.sqrt(fan) if fan else 0.0
