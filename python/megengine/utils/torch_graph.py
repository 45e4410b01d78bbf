# SPDX-License-Identifier: Apache-2.0
"""The forward of a PyTorch module, recorded by torch.fx, as a Module that runs the same steps."""

import contextlib
import inspect
import operator
import os
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
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
# Functions and layers whose result may share memory with their first argument.
_VIEWS = frozenset(
    "chunk contiguous detach dropout expand expand_as flatten float getattr getitem permute reshape"
    " split squeeze stochastic_depth t to transpose tuple type_as unbind unsqueeze view"
    " Dropout Dropout1d Dropout2d Flatten Identity".split()
)
# Arguments without an effect, with the values for which that holds.
_NEUTRAL = {"alpha": 1, "approximate": "none", "dilation": 1, "_stacklevel": 3, "other": None}


class Value(str):
    """The name of a value that a step has given, or of an input."""


class Step(NamedTuple):
    """A call of a part of the Module (``layer``), of a function, or a Tensor that it has."""

    kind: str
    name: str  # name of its result; that of an argument if the call changes it in place
    target: str
    args: tuple
    kwargs: dict
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
                found = attrgetter(step.target)(self)
                found = found(*args, **kwargs) if step.kind == "layer" else found
            values[step.name] = found
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
    """The Module that is equivalent to the forward of a user's module.

    Args:
        layer: the module of PyTorch.
        path: its path in errors.
        converted: converts a layer with a path to a Module.
        array_of: converts a tensor to an array.
    Raises:
        NotImplementedError: it cannot be recorded, or a step has no counterpart.
    """
    made = GraphModule({})
    with _undone(layer) as assigned:
        for mode in (True, False):
            for part in layer.modules():
                part.training = mode
            made._programs[mode] = _program(_recorded(layer, path), layer, path)
            if name := assigned():
                raise NotImplementedError(
                    f"[convert_module] {path} assigns a new tensor to {name} in its forward, which"
                    f" a recorded forward would not; {ADVICE}"
                )
        steps = [step for program in made._programs.values() for step in program.steps]
        targets = {step.target: step.kind for step in steps if step.kind != "function"}
        found = {target: attrgetter(target)(layer) for target in targets}
    for target, kind in targets.items():
        if kind == "layer":
            made.hold(target, converted(found[target], f"{path}.{target}"))
        else:
            made.hold(target, _tensor(found[target], array_of))
    made.train(layer.training, recursive=False)
    return made


@contextlib.contextmanager
def _undone(layer) -> Iterator[Callable[[], str]]:
    """Undoes the assignments of recorded forwards to attributes, including modes.

    Yields a function that returns the name of a replaced tensor, empty if there is none.
    """
    from torch import Tensor as Theirs  # an optional package

    kept = [
        (live, dict(live))
        for part in layer.modules()
        for live in (vars(part), part._buffers, part._parameters)
    ]

    def assigned() -> str:
        names = (
            name
            for live, before in kept
            for name, value in before.items()
            if isinstance(value, Theirs) and live.get(name) is not value
        )
        return next(names, "")

    try:
        yield assigned
    finally:
        for live, before in kept:
            live.clear()
            live.update(before)


def _tensor(value, array_of) -> Tensor:
    array = array_of(value)
    kind = Parameter if type(value).__name__ == "Parameter" else Tensor
    return kind(array, dtype=DTYPES.get(str(array.dtype), array.dtype))


def tie(made: Module, layer) -> None:
    """Let parameters that are one in PyTorch be one."""
    ours = dict(made.named_parameters())
    first: dict[int, str] = {}
    for name, value in layer.named_parameters(remove_duplicate=False):
        kept = first.setdefault(id(value), name)
        if kept != name and name in ours and kept in ours:
            path, _, last = name.rpartition(".")
            setattr(attrgetter(path)(made) if path else made, last, ours[kept])


def _recorded(layer, path: str):
    """The graph of torch.fx, in which only PyTorch's layers are leaves."""
    from torch import enable_grad, fx, is_grad_enabled, nn, random  # an optional package

    def recorded(function: Callable) -> Callable:
        return lambda self, other: self.tracer.create_proxy(
            "call_function", function, (self, other), {}
        )

    changes = {f"__{name}__": recorded(getattr(operator, name)) for name in _IN_PLACE}
    Proxy = type("Proxy", (fx.Proxy,), changes)  # without them torch.fx records += as +

    class Tracer(fx.Tracer):
        record_stack_traces = True
        proxy_buffer_attributes = True  # a buffer may be sliced by sizes of the input

        def is_leaf_module(self, m, module_qualified_name: str) -> bool:
            is_layer = type(m).__module__.startswith("torch.nn.modules.")
            return is_layer and not isinstance(m, nn.Sequential)

        def proxy(self, node):
            node.meta["is_detached"] = not is_grad_enabled()
            return Proxy(node, self)

    try:
        parameters = inspect.signature(layer.forward).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        with enable_grad(), random.fork_rng(devices=[]):
            before = random.get_rng_state()
            graph = Tracer().trace(layer, concrete_args=defaults or None)
            if not before.equal(random.get_rng_state()):
                raise ValueError("it draws random numbers, which would be constants")
            return graph
    except Exception as error:
        raise NotImplementedError(
            f"[convert_module] {path} is a {type(layer).__name__} whose forward torch.fx cannot"
            f" record: {error}. Values and shapes must not decide what it does; {ADVICE}"
        ) from error


def _program(graph, layer, path: str) -> Program:
    parameters = inspect.signature(layer.forward).parameters
    needed = {name for name, p in parameters.items() if p.default is p.empty}
    inputs, steps, result = [], [], None
    fixed = set()  # arguments with a default, and the checks that they keep it
    memory = _Memory(graph)
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
            step, is_in_place = _step(node, layer, path)
            if is_in_place and node.args[0] not in memory.numbers:
                if obstacle := memory.obstacle(node):
                    raise _refusal(node, path, f"in place on {obstacle}")
                node.replace_all_uses_with(node.args[0])
                step = step._replace(name=node.args[0].name)
            else:
                memory.add(node, step, layer)
            steps.append(step)
            if node.meta.get("is_detached") and not is_in_place:  # within torch.no_grad()
                result_of = Value(step.name)
                steps.append(Step("function", result_of, "detached", (result_of,), {}, ()))
    return Program(tuple(inputs), _with_ends(steps, result), result)


class _Memory:
    """Which values of a graph are numbers, and which tensors may share their memory."""

    def __init__(self, graph) -> None:
        self.numbers: set = set()
        self._owners: dict = {}  # by view: the value that owns its memory
        self._order = {node: place for place, node in enumerate(graph.nodes)}

    def add(self, node, step: Step, layer) -> None:
        """Adds the result of a step without side effects."""
        name = step.target
        if step.kind == "layer":
            name = type(attrgetter(name)(layer)).__name__
        of_numbers = bool(node.all_input_nodes) and self.numbers.issuperset(node.all_input_nodes)
        is_attribute = name == "getattr" and node.args[1] not in ("T", "data")
        is_operator = getattr(node.target, "__module__", "") in ("_operator", "builtins", "math")
        if name in ("size", "dim") or is_attribute or (of_numbers and is_operator):
            self.numbers.add(node)
        elif name in _VIEWS and node.all_input_nodes:
            self._owners[node] = self._owner(node.all_input_nodes[0])

    def _owner(self, node):
        return self._owners.get(node, node)

    def obstacle(self, node) -> str:
        """Returns the obstacle to changing a call's first argument in place; empty if there is
        none."""
        changed, place = node.args[0], self._order[node]
        owner = self._owner(changed)
        if owner.op == "get_attr":
            return owner.target
        for other in (owner, *(n for n, own in self._owners.items() if own is owner)):
            if other is not changed and any(self._order[user] > place for user in other.users):
                return "memory that another value shares"
        return ""


def _with_ends(steps: list[Step], result: Any) -> list[Step]:
    """The steps with the values that are read for the last time."""
    kept = set(_names_in(result))
    found = []
    for step in steps[::-1]:
        names = {*_names_in(step.args), *_names_in(step.kwargs), step.name}
        found.append(step._replace(done=tuple(sorted(names - kept))))
        kept |= names
    return found[::-1]


def _step(node, layer, path: str) -> tuple[Step, bool]:
    """The step of a call, and whether it changes its first argument."""
    if "input" in node.kwargs and not node.args:
        others = {key: value for key, value in node.kwargs.items() if key != "input"}
        node.args, node.kwargs = (node.kwargs["input"],), others
    args, kwargs = _plain(tuple(node.args)), _plain(dict(node.kwargs))
    has_value = bool(args) and isinstance(args[0], Value)
    if node.op == "get_attr":
        return Step("tensor", node.name, node.target, (), {}, ()), False
    if node.op == "call_module":
        called = attrgetter(node.target)(layer)
        is_in_place = has_value and getattr(called, "inplace", False)
        return Step("layer", node.name, node.target, args, kwargs, ()), is_in_place
    name = node.target if node.op == "call_method" else _name_of(node.target)
    if node.op == "call_method" and name == "where":  # the method of a tensor, not of a condition
        args = (args[1], args[0], *args[2:])
    key = _IN_PLACE.get(name, name.removesuffix("_") if name not in FUNCTIONS else name)
    if key not in FUNCTIONS or (key == "getattr" and args[1] not in _ATTRIBUTES):
        raise _refusal(node, path)
    kwargs = _without_neutral(key, kwargs)
    try:
        bound = inspect.signature(FUNCTIONS[key]).bind(*args, **kwargs)
    except TypeError:
        raise _refusal(node, path, f"with {kwargs}" if kwargs else "") from None
    is_in_place = has_value and (key != name or bool(bound.arguments.get("inplace")))
    return Step("function", node.name, key, args, kwargs, ()), is_in_place


def _refusal(node, path: str, how: str = "") -> NotImplementedError:
    name = _name_of(node.target) if node.op == "call_function" else node.target
    line = _line_of(node)
    return NotImplementedError(
        f"[convert_module] {path} calls {name}"
        + (f" {how}" if how else "")
        + (f" in `{line}`" if line else "")
        + f", which has no counterpart here; {ADVICE}"
    )


def _line_of(node) -> str:
    """The line of the user's code that made a node; empty if unknown."""
    import torch  # an optional package

    frames = re.findall(r'File "(.*?)", line \d+, in .*\n\s*(.*)', node.stack_trace or "")
    package = os.path.dirname(torch.__file__)
    lines = [line for file, line in frames if not file.startswith(package)]
    return lines[-1] if lines else ""


def _name_of(function: Callable) -> str:
    """The name of a function of PyTorch or Python; other names include the module."""
    if isinstance(function, type) and issubclass(function, tuple):
        return "tuple"
    module = getattr(function, "__module__", None) or "torch"
    is_known = module.split(".")[0] in ("torch", "_operator", "operator", "builtins", "math")
    if is_known or module.startswith("torchvision.ops."):
        return function.__name__
    return f"{module}.{function.__name__}"


def _without_neutral(key: str, kwargs: dict) -> dict:
    """Keyword arguments without those that have no effect and that our function does not have."""
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
