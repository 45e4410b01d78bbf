# SPDX-License-Identifier: Apache-2.0
"""Parameters, operations and activations of a Module, counted by running it once.

Operations are multiply-adds, as the table of ``register_flops`` counts them.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import module as M
from ..core.nesting import Nesting
from ..logger import get_logger
from ..module.batch_matmul_activation import BatchMatMulActivation
from ..module.batchnorm import _BatchNorm
from ..module.conv_base import _ConvNd
from ..tensor import Tensor
from .module_utils import set_module_mode_safe
from .network_stats import network_stats
from .stat_rules import (  # noqa: F401
    disable_receptive_field,
    elements_of,
    enable_receptive_field,
    get_activation_stats,
    get_op_stats,
    get_param_stats,
    preprocess_receptive_field,
    register_flops,
    register_receptive_field,
    shape_of,
    stats_details,
    total_stats,
)
from .stat_tables import (
    dict2table,
    print_activations_stats,
    print_op_stats,
    print_param_stats,
    print_summary,
    sizeof_fmt,
    sum_activations_stats,
    sum_op_stats,
    sum_param_stats,
)

__all__ = [
    "dict2table",
    "disable_receptive_field",
    "enable_receptive_field",
    "get_activation_stats",
    "get_op_stats",
    "get_param_stats",
    "hook_modules",
    "module_stats",
    "preprocess_receptive_field",
    "print_activations_stats",
    "print_op_stats",
    "print_param_stats",
    "print_summary",
    "register_flops",
    "register_hook_module",
    "register_receptive_field",
    "sizeof_fmt",
    "sum_activations_stats",
    "sum_op_stats",
    "sum_param_stats",
]

_logger = get_logger(__name__)
_norms = (_BatchNorm, M.LayerNorm, M.GroupNorm, M.InstanceNorm)
_pools = (M.AvgPool2d, M.MaxPool2d)
_adaptive_pools = (M.AdaptiveAvgPool2d, M.AdaptiveMaxPool2d)
_transposed = (M.ConvTranspose2d, M.ConvTranspose3d)

hook_modules = [_ConvNd, M.Linear, BatchMatMulActivation, *_norms, *_pools, *_adaptive_pools]


def register_hook_module(module: type | Iterable[type]) -> None:
    """Count a class of Modules, too.

    Args:
        module: the class, or several.
    Example:
        >>> class Twice(M.Module):
        ...     def forward(self, x):
        ...         return x + x
        >>> register_hook_module(Twice)
        >>> totals, _ = module_stats(Twice(), input_shapes=(2, 3))
        >>> totals.act_dims
        6
    """
    hook_modules.extend([module] if isinstance(module, type) else module)


def _spread(size, count: int) -> int:
    """Number of elements of a window given as one size or one per axis."""
    return size**count if isinstance(size, int) else elements_of(size)


# conv: each output is a sum over the window and the channels of its group.
@register_flops(_ConvNd)
def _conv_flops(module, inputs, outputs):
    shape = shape_of(outputs[0])
    window = _spread(module.kernel_size, len(shape) - 2)
    channels = module.in_channels // module.groups
    return elements_of(shape) * (channels * window + (module.bias is not None))


# Transposed: each input contributes to the window and the channels of its group.
@register_flops(*_transposed)
def _transposed_flops(module, inputs, outputs):
    shape = shape_of(inputs[0])
    window = _spread(module.kernel_size, len(shape) - 2)
    channels = module.out_channels // module.groups
    bias = elements_of(shape_of(outputs[0])) * (module.bias is not None)
    return elements_of(shape) * channels * window + bias


@register_flops(M.Linear)
def _linear_flops(module, inputs, outputs):
    bias = module.out_features * (module.bias is not None)
    return elements_of(shape_of(outputs[0])) * module.in_features + bias


@register_flops(BatchMatMulActivation)
def _batch_matmul_flops(module, inputs, outputs):
    return elements_of(shape_of(outputs[0])) * (module.in_features + (module.bias is not None))


# Mean, variance, difference, quotient, weight, bias, and the root.
@register_flops(*_norms)
def _norm_flops(module, inputs, outputs):
    return 7 * elements_of(shape_of(inputs[0]))


@register_flops(*_pools)
def _pool_flops(module, inputs, outputs):
    shape = shape_of(outputs[0])
    return elements_of(shape) * _spread(module.kernel_size, len(shape) - 2)


# One per result, as in MegEngine: windows differ in size.
@register_flops(*_adaptive_pools)
def _adaptive_pool_flops(module, inputs, outputs):
    return elements_of(shape_of(outputs[0]))


class _Watch:
    """Counts the work of a model's Modules, and records which parameters are read."""

    def __init__(self, model: M.Module, has_input: bool):
        self._has_input = has_input
        self._names: dict[M.Module, str] = {}
        self._seen: set[int] = set()
        self.params: list[dict] = []
        self.flops: list[dict] = []
        self.activations: list[dict] = []
        for name, module in model.named_modules():
            if isinstance(module, tuple(hook_modules)):
                self._names.setdefault(module, name)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        classes = {module: type(module) for module in self._names}
        hooks = [module.register_forward_hook(self._note_call) for module in classes]
        try:
            for module, cls in classes.items():
                module.__class__ = self._watched(cls)
            yield
        finally:
            for module, cls in classes.items():
                module.__class__ = cls
            for hook in hooks:
                hook.remove()

    def _watched(self, cls: type) -> type:
        """The class with properties in the place of parameters: functions may read them too."""

        def reading(name: str) -> property:
            return property(lambda module: self._note_read(module, name))

        return type(cls.__name__, (cls,), {name: reading(name) for name in ("weight", "bias")})

    def _note_read(self, module: M.Module, name: str):
        try:
            value = vars(module)[name]
        except KeyError:
            raise AttributeError(
                f"{type(module).__name__!r} object has no attribute {name!r}"
            ) from None
        if isinstance(value, Tensor) and id(value) not in self._seen:
            self._seen.add(id(value))
            stats = get_param_stats(value)
            self.params.append({**stats, "name": f"{self._names[module]}-{name[0]}"})
        return value

    def _note_call(self, module: M.Module, inputs, outputs) -> None:
        results = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        name = {"name": self._names[module], "class_name": type(module).__name__}
        stats = get_op_stats(module, inputs, results)
        if stats is not None:
            self.flops.append({**stats, **name})
        for result in results:
            if isinstance(result, Tensor):
                self.activations.append({**get_activation_stats(result, self._has_input), **name})


def _is_shape(value) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(size, int) for size in value)


def _map(value, is_leaf: Callable, make: Callable, nesting: Nesting | None = None):
    """A nested structure with other leaves."""
    nesting = nesting or Nesting("module_stats")
    if is_leaf(value):
        return make(value)
    if isinstance(value, dict):
        return {key: _map(value[key], is_leaf, make, nesting) for key in nesting.parts(value)}
    if isinstance(value, (list, tuple)):
        return [_map(part, is_leaf, make, nesting) for part in nesting.parts(value)]
    return value


def _arguments(inputs, input_shapes) -> list:
    if inputs is not None:
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        return _map(list(inputs), lambda value: isinstance(value, np.ndarray), Tensor)
    shapes = [input_shapes] if _is_shape(input_shapes) else list(input_shapes)
    return _map(shapes, _is_shape, lambda shape: Tensor(np.zeros(shape, np.float32)))


def _summary(totals: total_stats, count: int, wanted: dict[str, bool]) -> dict:
    summary = {"#params": count}
    if wanted["params"]:
        summary["total_param_dims"] = sizeof_fmt(totals.param_dims, "")
        summary["total_param_size"] = sizeof_fmt(totals.param_size)
    if wanted["flops"]:
        summary["total_flops"] = sizeof_fmt(totals.flops, "OPs")
    if wanted["activations"]:
        summary["total_act_dims"] = sizeof_fmt(totals.act_dims, "")
        summary["total_act_size"] = sizeof_fmt(totals.act_size)
    if wanted["params"] and wanted["flops"] and totals.param_size:
        summary["flops/param_size"] = f"{totals.flops / totals.param_size:.3f}"
    return {name: str(value).rstrip() for name, value in summary.items()}


def module_stats(
    model: M.Module,
    inputs: Any = None,
    input_shapes: Sequence | None = None,
    cal_params: bool = True,
    cal_flops: bool = True,
    cal_activations: bool = True,
    logging_to_stdout: bool = True,
    bar_length_max: int = 20,
) -> Any:
    """Run a Module once in evaluation mode, and count the sizes and operations of its parts.

    Parameters are the weights and biases that were read, each once; a Module that is called twice
    counts twice. The model is left as it was.

    Args:
        model: the model, whose parts of the classes in ``hook_modules`` are counted. A Network is
            counted from its shapes, without inputs.
        inputs: arrays or Tensors, or nested lists and dicts of them, one for each argument.
        input_shapes: shapes of float32 zeros to use instead of ``inputs``.
        cal_params: count parameters.
        cal_flops: count operations.
        cal_activations: count results.
        logging_to_stdout: log the tables in addition to the summary.
        bar_length_max: length of the longest bar.
    Returns:
        Two named tuples: ``total_stats`` with ``param_size``, ``param_dims``, ``flops``,
        ``act_size``, ``act_dims`` (sizes in bytes; 0 if not requested), and the rows of the tables,
        ``params``, ``flops``, ``activations`` (empty if not requested, except ``params``). None
        with an error in the log if there are neither inputs nor shapes.
    Example:
        >>> totals, details = module_stats(M.Linear(4, 2), input_shapes=(1, 4))
        >>> totals.param_dims, totals.flops, details.params[0]["name"]
        (10, 10, '-w')
    """
    if not isinstance(model, M.Module):
        return network_stats(
            model, cal_params, cal_flops, cal_activations, logging_to_stdout, bar_length_max
        )
    if inputs is None and input_shapes is None:
        _logger.error("Inputs or input_shapes is required for running model and calculating stats.")
        return None
    watch = _Watch(model, inputs is not None)
    with set_module_mode_safe(model, training=False), watch.watching():
        model(*_arguments(inputs, input_shapes))
    wanted = {"params": cal_params, "flops": cal_flops, "activations": cal_activations}
    count = len(watch.params)
    totals = _totals(watch, wanted, bar_length_max)
    if logging_to_stdout:
        _print_tables(watch, wanted, inputs is not None)
    print_summary(**_summary(totals, count, wanted))
    return totals, stats_details(
        watch.params, watch.flops if cal_flops else [], watch.activations if cal_activations else []
    )


def _totals(watch: _Watch, wanted: dict[str, bool], bar_length_max: int) -> total_stats:
    param_dims = param_size = flops = act_dims = act_size = 0
    if wanted["params"]:
        param_dims, param_size, _ = sum_param_stats(watch.params, bar_length_max)
    if wanted["flops"]:
        flops, _ = sum_op_stats(watch.flops, bar_length_max)
    if wanted["activations"]:
        act_dims, act_size, _ = sum_activations_stats(watch.activations, bar_length_max)
    return total_stats(param_size, param_dims, flops, act_size, act_dims)


def _print_tables(watch: _Watch, wanted: dict[str, bool], has_input: bool) -> None:
    if wanted["params"]:
        print_param_stats(watch.params)
    if wanted["flops"]:
        print_op_stats(watch.flops)
    if wanted["activations"]:
        print_activations_stats(watch.activations, has_input)
