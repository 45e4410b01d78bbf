# SPDX-License-Identifier: Apache-2.0
"""The forward of a PyTorch module, recorded by torch.fx, as a Module that runs the same steps."""

import inspect
import os
import re
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from ..module import Module
from ..tensor import Parameter, Tensor
from .torch_functions import DTYPES, FUNCTIONS
from .torch_module import _Parts

ADVICE = (
    "export it with torch.onnx.export and read the file with megengine.onnx.load, or run it in"
    " PyTorch with TorchModule"
)
_ATTRIBUTES = ("T", "data", "device", "dtype", "ndim", "shape")
_IN_PLACE = {"iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "truediv", "ipow": "pow"}
# Arguments that change nothing, with the values for which that is so.
_NEUTRAL = {"alpha": 1, "approximate": "none", "dilation": 1, "_stacklevel": 3, "other": None}


class Value(str):
    """The name of a value that a step has given, or of an input."""


class Step(NamedTuple):
    """A call of a part of the Module (``layer``), of a function, or a Tensor that it has."""

    kind: str
    name: str
    target: str
    args: tuple
    kwargs: dict
    changes: str | None  # the value that the call changes in place
    done: tuple[str, ...]  # values that no later step reads


class Program(NamedTuple):
    """The steps of one mode."""

    inputs: tuple[str, ...]
    steps: list[Step]
    result: Any


class GraphModule(_Parts):
    """Runs recorded steps; its parts have the names that they have in PyTorch.

    Args:
        programs: for training and for evaluation.
    """

    def __init__(self, programs: dict[bool, Program]):
        super().__init__()
        self._programs = programs

    def forward(self, *inputs, **named):
        """The result for the inputs of PyTorch's forward that have no default.

        Raises:
            TypeError: they are others.
        """
        program = self._programs[self.training]
        values = dict(zip(program.inputs, inputs, strict=False)) | named
        if len(inputs) + len(named) != len(values) or values.keys() != set(program.inputs):
            raise TypeError(
                f"[GraphModule] the inputs are {', '.join(program.inputs)}, got {len(inputs)}"
                f" and {sorted(named)}; arguments with a default keep it"
            )
        for step in program.steps:
            args, kwargs = _filled(step.args, values), _filled(step.kwargs, values)
            if step.kind == "function":
                found = FUNCTIONS[step.target](*args, **kwargs)
            else:
                found = reduce(getattr, step.target.split("."), self)
                found = found(*args, **kwargs) if step.kind == "layer" else found
            values[step.name] = found
            if step.changes is not None:
                values[step.changes] = found
            for name in step.done:
                del values[name]
        return _filled(program.result, values)


def _filled(part: Any, values: dict) -> Any:
    """Arguments with the values in the places of their names."""
    if isinstance(part, Value):
        return values[part]
    if isinstance(part, (tuple, list)):
        return type(part)(_filled(item, values) for item in part)
    if isinstance(part, dict):
        return {key: _filled(item, values) for key, item in part.items()}
    if isinstance(part, slice):
        return slice(*(_filled(item, values) for item in (part.start, part.stop, part.step)))
    return part


def _names_in(part: Any):
    if isinstance(part, Value):
        yield part
    elif isinstance(part, (tuple, list)):
        for item in part:
            yield from _names_in(item)
    elif isinstance(part, dict):
        yield from _names_in(list(part.values()))
    elif isinstance(part, slice):
        yield from _names_in((part.start, part.stop, part.step))


def graph_module(layer, path: str, converted: Callable[[Any, str], Module], array_of) -> Module:
    """The Module that does what the forward of a module of a user does.

    Args:
        layer: the module of PyTorch.
        path: names it in errors.
        converted: makes a Module of a layer with a path.
        array_of: makes an array of a tensor.
    Raises:
        NotImplementedError: it cannot be recorded, or a step has no counterpart.
    """
    modes = {part: part.training for part in layer.modules()}
    programs = {}
    try:
        for mode in (True, False):
            for part in modes:
                part.training = mode
            programs[mode] = _program(_recorded(layer, path), layer, path)
    finally:
        for part, mode in modes.items():
            part.training = mode
    made = GraphModule(programs)
    steps = [step for program in programs.values() for step in program.steps]
    targets = {step.target: step.kind for step in steps if step.kind != "function"}
    for target, kind in targets.items():
        found = reduce(getattr, target.split("."), layer)
        if kind == "layer":
            made.hold(target, converted(found, f"{path}.{target}"))
        else:
            made.hold(target, _tensor(found, array_of))
    _tie(made, layer)
    made.train(layer.training, recursive=False)
    return made


def _tensor(value, array_of) -> Tensor:
    array = array_of(value)
    kind = Parameter if type(value).__name__ == "Parameter" else Tensor
    return kind(array, dtype=DTYPES.get(str(array.dtype), array.dtype))


def _tie(made: Module, layer) -> None:
    """Let parameters that are one in PyTorch be one."""
    ours = dict(made.named_parameters())
    first: dict[int, str] = {}
    for name, value in layer.named_parameters(remove_duplicate=False):
        kept = first.setdefault(id(value), name)
        if kept != name and name in ours and kept in ours:
            *owner, last = name.split(".")
            setattr(reduce(getattr, owner, made), last, ours[kept])


def _recorded(layer, path: str):
    """The graph of torch.fx, where all that is no layer of PyTorch's is taken apart."""
    from torch import fx, nn  # an optional package

    class Tracer(fx.Tracer):
        record_stack_traces = True
        proxy_buffer_attributes = True  # a buffer may be sliced by sizes of the input

        def is_leaf_module(self, m, module_qualified_name: str) -> bool:
            is_layer = type(m).__module__.startswith("torch.nn.modules.")
            return is_layer and not isinstance(m, nn.Sequential)

    parameters = inspect.signature(layer.forward).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    try:
        return Tracer().trace(layer, concrete_args=defaults or None)
    except Exception as error:
        raise NotImplementedError(
            f"[convert_module] {path} is a {type(layer).__name__} whose forward torch.fx cannot"
            f" record: {error}. Values and shapes must not decide what it does; {ADVICE}"
        ) from error


def _program(graph, layer, path: str) -> Program:
    parameters = inspect.signature(layer.forward).parameters
    needed = {name for name, p in parameters.items() if p.default is p.empty}
    inputs, steps, result = [], [], None
    fixed = set()  # arguments with a default, and what checks that they keep it
    for node in graph.nodes:
        if node.op == "placeholder":
            if node.target.startswith("*"):
                raise NotImplementedError(
                    f"[convert_module] {path} is a {type(layer).__name__} whose forward takes"
                    f" {node.target}, so the number of its inputs is open; {ADVICE}"
                )
            if node.target in needed:
                inputs.append(node.name)
            else:
                fixed.add(node)
        elif node.op == "output":
            result = _plain(node.args[0])
        elif node.all_input_nodes and fixed.issuperset(node.all_input_nodes):
            fixed.add(node)
        elif getattr(node.target, "__name__", "") != "_assert":
            steps.append(_step(node, layer, path))
    return Program(tuple(inputs), _with_ends(steps, result), result)


def _with_ends(steps: list[Step], result: Any) -> list[Step]:
    """The steps with what is read for the last time."""
    kept = set(_names_in(result))
    found = []
    for step in steps[::-1]:
        names = {*_names_in(step.args), *_names_in(step.kwargs), step.name}
        found.append(step._replace(done=tuple(sorted(names - kept))))
        kept |= names
    return found[::-1]


def _step(node, layer, path: str) -> Step:
    args, kwargs = _plain(tuple(node.args)), _plain(dict(node.kwargs))
    first = args[0] if args and isinstance(args[0], Value) else None
    if node.op == "get_attr":
        return Step("tensor", node.name, node.target, (), {}, None, ())
    if node.op == "call_module":
        called = reduce(getattr, node.target.split("."), layer)
        changes = first if getattr(called, "inplace", False) else None
        return Step("layer", node.name, node.target, args, kwargs, changes, ())
    name = node.target if node.op == "call_method" else _name_of(node.target)
    key = _IN_PLACE.get(name, name.removesuffix("_") if name not in FUNCTIONS else name)
    changes = first if key != name or kwargs.get("inplace") else None
    is_known = key in FUNCTIONS and (key != "getattr" or args[1] in _ATTRIBUTES)
    if is_known:
        kwargs = _without_neutral(key, kwargs)
        try:
            inspect.signature(FUNCTIONS[key]).bind(*args, **kwargs)
            return Step("function", node.name, key, args, kwargs, changes, ())
        except TypeError:
            pass
    others = {**kwargs} if is_known else {}
    line = _line_of(node)
    raise NotImplementedError(
        f"[convert_module] {path} calls {name}"
        + (f" with {others}" if others else "")
        + (f" in `{line}`" if line else "")
        + f", which has no counterpart here; {ADVICE}"
    )


def _line_of(node) -> str:
    """The line of the user's code that made a node; empty if it is not known."""
    import torch  # an optional package

    frames = re.findall(r'File "(.*?)", line \d+, in .*\n\s*(.*)', node.stack_trace or "")
    package = os.path.dirname(torch.__file__)
    lines = [line for file, line in frames if not file.startswith(package)]
    return lines[-1] if lines else ""


def _name_of(function: Callable) -> str:
    """The name of a function of PyTorch or Python; that of another one has its module."""
    if isinstance(function, type) and issubclass(function, tuple):
        return "tuple"
    module = getattr(function, "__module__", None) or "torch"
    is_known = module.split(".")[0] in ("torch", "_operator", "operator", "builtins", "math")
    if is_known or module.startswith("torchvision.ops."):
        return function.__name__
    return f"{module}.{function.__name__}"


def _without_neutral(key: str, kwargs: dict) -> dict:
    """Keyword arguments without those that change nothing and that our function does not have."""
    known = inspect.signature(FUNCTIONS[key]).parameters
    return {
        name: value
        for name, value in kwargs.items()
        if name in known
        or not (value is None or value is False or (name in _NEUTRAL and value == _NEUTRAL[name]))
    }


def _plain(part: Any) -> Any:
    """Arguments of torch.fx as plain data and the names of values."""
    from torch import device, dtype, fx  # an optional package

    if isinstance(part, fx.Node):
        return Value(part.name)
    if isinstance(part, dtype):
        return DTYPES.get(str(part).removeprefix("torch."), str(part))
    if isinstance(part, device):
        return None
    if isinstance(part, (tuple, list)):
        return (list if isinstance(part, list) else tuple)(_plain(item) for item in part)
    if isinstance(part, dict):
        return {key: _plain(item) for key, item in part.items()}
    if isinstance(part, slice):
        return slice(_plain(part.start), _plain(part.stop), _plain(part.step))
    return part
