# SPDX-License-Identifier: Apache-2.0
"""Numbers of operations and receptive fields of Modules and operators, by registered rules, and
statistics of one value or call.
"""

import contextlib
import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..core.tensor.dtype import get_dtype_bit
from ..tensor import Tensor

_flops: dict[type, Callable] = {}
_fields: dict[type, Callable] = {}
_field_wanted = False

total_stats = namedtuple(
    "total_stats", ["param_size", "param_dims", "flops", "act_size", "act_dims"]
)
stats_details = namedtuple("module_stats", ["params", "flops", "activations"])


def _registering(table: dict, modules: tuple) -> Callable:
    def register(rule: Callable) -> Callable:
        table.update(dict.fromkeys(modules, rule))
        return rule

    return register


def register_flops(*modules: type) -> Callable:
    """A decorator: how many operations a class of Modules does.

    Args:
        modules: the classes; later rules take precedence, and only classes in ``hook_modules`` (see
            ``register_hook_module``) are counted.
    Returns:
        A decorator for ``rule(module, inputs, outputs)``, which returns a number.
    Example:
        >>> @register_flops(M.Dropout)
        ... def one_per_element(module, inputs, outputs):
        ...     return outputs[0].size
    """
    return _registering(_flops, modules)


def register_receptive_field(*modules: type) -> Callable:
    """A decorator: how far the outputs of a class of nodes see.

    Args:
        modules: the classes.
    Returns:
        The decorator of ``rule(module, inputs, outputs)``, which gives two pairs: the receptive
        field and the stride.
    Example:
        >>> from megengine.utils.network_node import Copy
        >>> @register_receptive_field(Copy)
        ... def as_before(module, inputs, outputs):
        ...     return preprocess_receptive_field(module, inputs, outputs)
    """
    return _registering(_fields, modules)


def enable_receptive_field() -> None:
    """Report receptive fields with the operations of graph nodes, which know their inputs.

    Example:
        >>> enable_receptive_field()
        >>> disable_receptive_field()
    """
    global _field_wanted
    _field_wanted = True


def disable_receptive_field() -> None:
    """Stop reporting receptive fields.

    Example:
        >>> disable_receptive_field()
    """
    global _field_wanted
    _field_wanted = False


@contextlib.contextmanager
def field_shown() -> Iterator[None]:
    """Receptive fields inside of a ``with`` block."""
    before = _field_wanted
    enable_receptive_field()
    try:
        yield
    finally:
        if not before:
            disable_receptive_field()


def elements_of(shape: Iterable[int]) -> int:
    return math.prod(tuple(shape))


def shape_of(value) -> tuple:
    return tuple(value._tuple_shape if isinstance(value, Tensor) else value.shape)


def field_of(value) -> tuple:
    """Receptive field and stride of a node's results."""
    owner = value.owner
    return getattr(owner, "_rf", (1, 1)), getattr(owner, "_stride", (1, 1))


def preprocess_receptive_field(module, inputs, outputs) -> tuple:
    """Receptive field of a node's inputs, also recorded for its outputs.

    Args:
        module: the node.
        inputs, outputs: variables of a graph.
    Returns:
        Receptive field and stride, pairs of (height, width).
    Raises:
        AttributeError: the inputs are Tensors, which have no record of their origin.
    Example:
        >>> from megengine.utils.network import Network
        >>> x = Network().make_input_node((1, 3, 8, 8), "float32")
        >>> y = F.relu(x)
        >>> preprocess_receptive_field(y.owner, [x], [y])
        ((1, 1), (1, 1))
    """
    known = [field_of(value) for value in inputs]
    field, stride = (
        tuple(max((each[i][axis] for each in known), default=1) for axis in (0, 1)) for i in (0, 1)
    )
    for value in outputs:
        value.owner._rf, value.owner._stride = field, stride
    return field, stride


def _rule_of(table: dict[type, Callable], module) -> Callable | None:
    return next((rule for cls, rule in reversed(table.items()) if isinstance(module, cls)), None)


def _noted_field(module, inputs, outputs) -> dict:
    """Receptive field of the outputs, recorded for their readers; returned if the class has a
    rule."""
    if not _field_wanted or not all(hasattr(value, "owner") for value in (*inputs, *outputs)):
        return {}
    rule = _rule_of(_fields, module)
    if rule is None:
        preprocess_receptive_field(module, inputs, outputs)
        return {}
    return dict(zip(("receptive_field", "stride"), rule(module, inputs, outputs), strict=True))


def get_op_stats(module, inputs, outputs) -> dict | None:
    """Shapes and operations of one call.

    Args:
        module: the Module.
        inputs: its input Tensors.
        outputs: its output Tensors.
    Returns:
        dict with ``input_shapes``, ``output_shapes``, ``flops_num``; None if the class has no rule
        for operations.
    Example:
        >>> fc, x = M.Linear(2, 3), F.ones((1, 2))
        >>> get_op_stats(fc, [x], [fc(x)])["flops_num"]
        9
    """
    field = _noted_field(module, inputs, outputs)
    rule = _rule_of(_flops, module)
    if rule is None:
        return None
    stats = {
        "input_shapes": [shape_of(value) for value in inputs],
        "output_shapes": [shape_of(value) for value in outputs],
        "flops_num": rule(module, inputs, outputs),
    }
    return stats | field


def _moments(values: np.ndarray) -> dict[str, str]:
    return {"mean": f"{values.mean():.3g}", "std": f"{values.std():.3g}"}


def _size_stats(tensor: Tensor, dimension: str) -> dict:
    bits = get_dtype_bit(np.dtype(tensor.dtype).name)
    elements = elements_of(shape_of(tensor))
    return {dimension: elements, "nbits": bits, "size": elements * bits // 8}


def get_param_stats(param: Tensor) -> dict:
    """Statistics of a parameter.

    Args:
        param: any Tensor.
    Returns:
        dict with ``dtype``, ``shape``, ``mean``, ``std``, ``param_dim``, ``nbits``, ``size``.
    Example:
        >>> get_param_stats(Tensor([1.0, 2.0]))["mean"]
        '1.5'
    """
    values = param.numpy()
    head = {"dtype": values.dtype, "shape": shape_of(param)}
    return {**head, **_moments(values), **_size_stats(param, "param_dim")}


def get_activation_stats(output: Tensor, has_input: bool = False) -> dict:
    """Statistics of a result.

    Args:
        output: any Tensor.
        has_input: with ``mean`` and ``std``, which mean something for real inputs only.
    Returns:
        dict with ``dtype``, ``shape``, ``act_dim``, ``nbits``, ``size``.
    Example:
        >>> get_activation_stats(Tensor([1.0, 2.0]))["size"]
        8
    """
    stats = {"dtype": output.dtype, "shape": shape_of(output), **_size_stats(output, "act_dim")}
    return {**stats, **_moments(output.numpy())} if has_input else stats
