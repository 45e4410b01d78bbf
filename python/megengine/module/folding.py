# SPDX-License-Identifier: Apache-2.0
"""Weights that do the work of the normalisation behind a convolution or a linear map."""

from ..tensor import Tensor


def fold_factor(gamma: Tensor | None, bn_var: Tensor, eps: float = 1e-5) -> Tensor:
    """The factor of each channel in a normalisation by running statistics.

    Args:
        gamma: its factors; None: 1.
        bn_var: its running variances.
        eps: added to the variances.
    Returns:
        Tensor of the shape of ``bn_var``.
    """
    scale = (bn_var + eps) ** -0.5
    return scale if gamma is None else scale * gamma


def fold_weight_bias(
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    bn_mean: Tensor,
    bn_var: Tensor,
    eps: float = 1e-5,
    transpose: bool = False,
) -> tuple[Tensor, Tensor]:
    """The weight and bias of a convolution that does a normalisation's work, too.

    Args:
        weight: (OUT, IN, KH, KW), or (G, OUT / G, IN / G, KH, KW); with IN and OUT exchanged for a
            transposed convolution; (OUT, IN) for a linear map.
        bias: (1, OUT, 1, 1) or None; (OUT,) for a linear map.
        gamma: factors of the normalisation; None: 1.
        beta: its offsets; None: 0.
        bn_mean: its running means, OUT elements like the other two.
        bn_var: its running variances.
        eps: added to the variances.
        transpose: the convolution is a transposed one.
    Returns:
        Weight and bias, the bias in the shape of ``bn_mean``.
    Example:
        >>> one, two = F.ones((1, 1, 1, 1)), F.full((1, 1, 1, 1), 2.0)
        >>> weight, bias = fold_weight_bias(two, one, one, one, one, one, eps=0.0)
        >>> weight.item(), bias.item()
        (2.0, 1.0)
    """
    scale = fold_factor(gamma, bn_var, eps)
    folded = -bn_mean * scale if bias is None else (bias.reshape(bn_mean.shape) - bn_mean) * scale
    if beta is not None:
        folded = folded + beta
    # OUT is axis 0, or 1 when transposed; with groups it is split and both come one later.
    has_groups = weight.ndim == 5
    at = int(transpose) + int(has_groups)
    shape = [1] * weight.ndim
    shape[at] = weight.shape[at]
    if has_groups:
        shape[0] = weight.shape[0]
    return weight * scale.reshape(*shape), folded
