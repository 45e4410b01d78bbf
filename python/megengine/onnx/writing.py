# SPDX-License-Identifier: Apache-2.0
"""Writes recorded graphs as ONNX files."""

import contextlib
import inspect

from ..jit import trace
from ..module import Module
from ..tensor import Tensor

DEFAULT_OPSET = 17


def export(module, path, args, input_names=None, output_names=None, opset=DEFAULT_OPSET):
    """Write a Module or function as an ONNX file, as it is in evaluation mode.

    If the graph supports other batch sizes than that of ``args``, the first dimension of inputs and
    outputs is named ``batch`` in the file. Weights beyond 2 GiB go to a second file, ``PATH.data``.

    Args:
        module: the Module, or a function of Tensors.
        path: path of the file, or a binary file object.
        args: the arguments of one call, Tensors or arrays: one, or a tuple of them.
        input_names: names of the inputs; default: those of the arguments.
        output_names: names of the outputs; default: those set by the function, else those of their
            operators, or the keys of the returned dict.
        opset: version of the operator set, 11 to 28.
    Returns:
        The result of ``trace.dump``: number of operators, bytes, names of inputs and outputs, ….
    Raises:
        ValueError: the names are wrong, or the operator set is out of range.
        RuntimeError: ONNX has no counterpart of some operators, which the message lists.
    Example:
        >>> import megengine.module as M
        >>> from megengine import onnx
        >>> onnx.export(M.Linear(3, 2), "linear.onnx", Tensor([[1.0, 2.0, 3.0]])).inputs
        ['x']
    """
    tensors = [
        arg if isinstance(arg, Tensor) else Tensor(arg)
        for arg in (args if isinstance(args, (tuple, list)) else (args,))
    ]
    with _evaluating(module):
        # Called as a Module, it gives its parameters their names.
        traced = trace(module, symbolic=True, capture_as_const=True)
        traced(*tensors)
    function = module.forward if isinstance(module, Module) else module
    return traced.dump(
        path,
        arg_names=input_names or _argument_names(function, len(tensors)),
        output_names=output_names,
        format="onnx",
        opset=opset,
        silent=True,
    )


def _argument_names(function, count: int) -> list[str] | None:
    """Names of the first parameters; None if they have no separate names."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[:count]
    except ValueError:  # raised for a function without a signature
        return None
    named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return named if len(named) == count else None


@contextlib.contextmanager
def _evaluating(module):
    """Each part is afterwards in the mode that it was in."""
    parts = list(module.modules()) if isinstance(module, Module) else []
    modes = [part.training for part in parts]
    for part in parts:
        part.training = False
    try:
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode
