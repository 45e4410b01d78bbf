# SPDX-License-Identifier: Apache-2.0
"""Tensors and Modules marked as NHWC."""

from copy import deepcopy

from ..module import Module
from ..tensor import Tensor


def convert_tensor_format(x: Tensor, inplace: bool = True) -> Tensor:
    """Mark images, or weights of convolutions, as NHWC.

    The mark is ``x.format``, and results of operators on images have it too. Shape, values and the
    order of axes stay those of NCHW; the graph compiler chooses the memory layout.

    Args:
        x: of rank 4 or 5; others stay as they are.
        inplace: mark ``x`` itself.
    Returns:
        ``x``, or another Tensor with its value.
    Example:
        >>> convert_tensor_format(F.ones((1, 3, 4, 4))).format
        'nhwc'
    """
    result = x if inplace else Tensor(x)
    if x.ndim in (4, 5):
        result.format = "nhwc"
    return result


def convert_module_format(module: Module, inplace: bool = True) -> Module:
    """Mark the weights, biases and buffers of a Module as NHWC.

    Args:
        module: the Module whose parameters and buffers of rank 4 and 5 are marked.
        inplace: mark ``module`` itself instead of a copy.
    Returns:
        The Module.
    Example:
        >>> net = convert_module_format(M.Conv2d(3, 8, 3))
        >>> net.weight.format
        'nhwc'
    """
    result = module if inplace else deepcopy(module)
    for tensor in result.tensors():
        convert_tensor_format(tensor)
    return result
