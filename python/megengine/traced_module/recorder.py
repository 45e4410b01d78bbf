# SPDX-License-Identifier: Apache-2.0
"""Records the computation of a Module as graphs.

A recorder has a stack of scopes, one for each active Module call. Values are not replaced; a scope
maps them to nodes by identity. Values without a node get one on first use: items of the Module's
lists and dicts, and constants.
"""

import copy
from collections.abc import Callable, Iterator

from ..core.nesting import Nesting
from ..module import Module
from ..operators import Copy, GetVarShape
from ..tensor import Tensor
from ..version import __version__
from .expr import (
    IN_PLACE,
    Apply,
    CallFunction,
    CallMethod,
    Constant,
    GetAttr,
    Input,
    get_suffix_name,
)
from .functions import call_autodiff_function, call_own_operator, make_tensor
from .graph import InternalGraph
from .leaves import is_leaf
from .node import ModuleNode, Node, TensorNode
from .pytree import LeafDef, flatten_tree
from .recording import current, paused
from .tm_config import checks
from .utils import normalised, normalised_for, signature_of, signature_of_forward


def _parts(name: str, value, nesting: Nesting | None = None) -> Iterator[tuple[str, object]]:
    """Tensors and Modules in a container, with their paths."""
    nesting = nesting or Nesting("trace_module")
    if isinstance(value, (Tensor, Module)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for k, part in enumerate(nesting.parts(value)):
            yield from _parts(f"{name}.{k}", part, nesting)
    elif isinstance(value, dict):
        for key in nesting.parts(value):
            if isinstance(key, str):
                yield from _parts(f"{name}.{key}", value[key], nesting)


class Scope:
    """The recording of one call of a Module."""

    def __init__(self, graph: InternalGraph):
        self.graph = graph
        self.nodes: dict[int, tuple[object, Node]] = {}
        self.parts: dict[int, tuple[object, Module, str]] = {}  # in containers of a Module

    def node_of(self, value) -> Node | None:
        """The node of a Tensor or Module."""
        found = self.nodes.get(id(value))
        return None if found is None else found[1]

    def give_node(self, value, node: Node) -> None:
        """Bind a Tensor or Module to a node."""
        self.nodes[id(value)] = value, node


class Builder:
    """The recording of one Module."""

    def __init__(self, module: Module):
        self.module = module
        self.graphs: dict = {}
        self.out_defs: dict = {}
        self.attributes: dict[str, object] = {}  # by path, as far as they were read


class Recorder:
    """Records on this thread while it is entered."""

    inserts = False  # expressions into a graph that is there already

    def __init__(self):
        self.scopes: list[Scope] = []
        self.builders: dict[int, Builder] = {}
        self.values: dict[Node, Tensor] = {}  # for the checker of expressions

    def __enter__(self) -> "Recorder":
        if current.recorder is not None:
            raise RuntimeError("[trace_module] this thread is already recording")
        current.recorder = self
        return self

    def __exit__(self, *exc) -> None:
        current.recorder = None

    @property
    def scope(self) -> Scope:
        """The scope of the innermost call."""
        return self.scopes[-1]

    def builder_of(self, module: Module) -> Builder:
        """The recording of a Module."""
        return self.builders.setdefault(id(module), Builder(module))

    # Nodes of values.

    def _read(self, owner: Module, path: str, value) -> Node:
        """The node of an attribute that is read now."""
        scope = self.scope
        owner_node = scope.node_of(owner)
        self.builder_of(owner).attributes[path] = value
        kind = TensorNode if isinstance(value, Tensor) else ModuleNode
        prefix = get_suffix_name(scope.graph.qualname, owner_node.qualname) or ""
        expr = GetAttr(owner_node, kind, path, f"{prefix}.{path}" if prefix else path)
        (node,) = expr.outputs
        if isinstance(value, Tensor):
            node.describe(value)
        elif is_leaf(value):
            node.module_type = type(value)
        scope.graph._insert(expr)
        scope.give_node(value, node)
        return node

    def read_attribute(self, owner: Module, name: str, value) -> None:
        """An attribute of a Module is read."""
        scope = self.scope
        if name.startswith("_") and isinstance(value, (list, tuple, dict)):
            return  # lists that Module keeps, of names and hooks
        if self._module_node(owner) is None:
            return
        if isinstance(value, Tensor):
            node = scope.node_of(value)
            if node is None or isinstance(node.expr, GetAttr):
                self._read(owner, name, value)
        elif isinstance(value, Module):
            self._read(owner, name, value)
        else:
            found = list(_parts(name, value))
            if found:
                scope.graph._namespace.create_unique_name(name)
                for path, part in found:
                    scope.parts[id(part)] = part, owner, path
                    # Each time that a container is read its items are read anew.
                    if isinstance(part, Module):
                        scope.nodes.pop(id(part), None)

    def _module_node(self, module: Module) -> Node | None:
        node = self.scope.node_of(module)
        if node is None and id(module) in self.scope.parts:
            node = self._read_part(module)
        return node

    def _read_part(self, value) -> Node:
        _, owner, path = self.scope.parts[id(value)]
        self._module_node(owner)
        return self._read(owner, path, value)

    def node_for(self, value) -> Node:
        """The node of a Tensor or Module that is used now."""
        scope = self.scope
        node = scope.node_of(value)
        if node is not None:
            return node
        if id(value) in scope.parts:
            return self._read_part(value)
        for outer in self.scopes[:-1]:
            known = outer.node_of(value)
            if isinstance(value, Tensor) and isinstance(known, TensorNode):
                if not isinstance(known.expr, (GetAttr, Constant)):
                    raise RuntimeError(
                        f"[trace_module] {scope.graph.qualname} uses {known.qualname} of"
                        f" {outer.graph.qualname}, which is not an argument; make it one"
                    )
        expr = Constant(value)
        expr.outputs[0]._qualname = f"{scope.graph.qualname}.[{expr.outputs[0]._name}]"
        scope.graph._insert(expr)
        scope.give_node(value, expr.outputs[0])
        return expr.outputs[0]

    # Expressions.

    def _record_call(self, expr, args: tuple, kwargs: dict, result):
        leaves, structure = flatten_tree((args, kwargs))
        expr._set_call([self.node_for(leaf) for leaf in leaves], structure)
        return self._record(expr, result)

    def _record(self, expr, result):
        expr.version = __version__
        expr.add_outputs(result)
        self.scope.graph._insert(expr)
        for value, node in zip(flatten_tree(result)[0], expr.outputs, strict=True):
            self.scope.give_node(value, node)
            if checks.expressions and isinstance(value, Tensor):
                with paused():
                    self.values[node] = Tensor(value)
        return result

    def call_function(self, func: Callable, original: Callable, args: tuple, kwargs: dict):
        """A function is called."""
        with paused():
            result = original(*args, **kwargs)
        if not _holds_tensors(result):
            return result
        args, kwargs = normalised_for(original, args, kwargs)
        return self._record_call(CallFunction(func), args, kwargs, result)

    def call_own_operator(self, name: str, operator: Callable, args: tuple, kwargs: dict):
        """An operator of a library is applied."""
        return self.call_function(
            call_own_operator,
            lambda _, *args, **kwargs: operator(*args, **kwargs),
            (name, *args),
            kwargs,
        )

    def call_autodiff_function(self, function, original: Callable, args: tuple):
        """Record a call of a ``Function`` with a custom gradient."""
        kept = copy.copy(function)  # without the state that the call stores in it
        with paused():
            result = original(function, *args)
        return self._record_call(CallFunction(call_autodiff_function), (kept, *args), {}, result)

    def call_tensor_method(self, name: str, original: Callable, tensor, args, kwargs):
        """A method of a Tensor is called."""
        if name == "to":
            return self.apply(Copy(*map(str, args), **kwargs), (tensor,))
        node = self.node_for(tensor)  # before the method changes it
        with paused():
            if name in IN_PLACE and isinstance(node.expr, Constant):
                node.expr.value = Tensor(tensor)
            result = original(tensor, *args, **kwargs)
        if result is NotImplemented:
            return result
        all_args, kwargs = normalised(signature_of(original), (tensor, *args), kwargs)
        expr = CallMethod(node, name)
        if name in IN_PLACE and isinstance(node.expr, (GetAttr, Input)):
            expr.disable_remove()  # it changes objects outside of the graph
        changed = tensor if name == "__setitem__" else result
        self._record_call(expr, all_args, kwargs, changed)
        return result

    def make_tensor(self, tensor: Tensor, make: Callable, args: tuple, kwargs: dict) -> None:
        """A Tensor is made; one that is made of no other one is a constant."""
        with paused():
            make(tensor, *args, **kwargs)
        if _holds_tensors(args[0]):
            self._record_call(CallFunction(make_tensor), args, kwargs, tensor)

    def shape_of(self, tensor: Tensor) -> Tensor:
        """Record a query of a Tensor's shape."""
        return self.apply(GetVarShape(), (tensor,))

    def apply(self, opdef, inputs: tuple):
        """An operator is applied."""
        expr = Apply(opdef)
        for value in inputs:
            expr._add_input(self.node_for(value))
        with paused():
            result = opdef(*inputs)
        return self._record(expr, result)

    # Modules.

    def call_module(self, module: Module, call: Callable, args: tuple, kwargs: dict):
        """A Module is called."""
        node = self._module_node(module)
        if node is None:
            node = self.node_for(module)
        args, kwargs = normalised(signature_of_forward(module), (module, *args), kwargs)
        if is_leaf(module):
            with paused():
                result = call(module, *args[1:], **kwargs)
            return self._record_call(CallMethod(node), args, kwargs, result)
        expr = CallMethod(node)
        leaves, structure = flatten_tree((args, kwargs))
        nodes = [self.node_for(leaf) for leaf in leaves]
        expr._set_call(nodes, structure)
        result = self.enter_module(module, leaves, structure, node.qualname)
        return self._record(expr, result)

    def enter_module(self, module: Module, leaves: list, structure, qualname: str):
        """Record a call of a Module as its graph, once for each structure of arguments."""
        builder = self.builder_of(module)
        if structure in builder.graphs:
            args, kwargs = structure.unflatten(structure.fill(leaves))
            with paused():
                return _run(*args, **kwargs)
        graph = InternalGraph(qualname.replace(".", "_"), qualname)
        graph._top = None if not self.scopes else self._top_of(graph)
        scope = Scope(graph)
        leaves = _each_once(leaves)
        args, kwargs = structure.unflatten(structure.fill(leaves))
        self._add_inputs(scope, module, structure, leaves)
        self.scopes.append(scope)
        try:
            result = _run(*args, **kwargs)
            values, out_def = flatten_tree(result)
            _check_outputs(module, values, out_def)
            graph._outputs = [self.node_for(value) for value in values]
        finally:
            self.scopes.pop()
        self._name_nodes(scope)
        builder.graphs[structure] = graph
        builder.out_defs[structure] = out_def
        return result

    def _name_nodes(self, scope: Scope) -> None:
        """After recording a Module: the names that its Tensors have are not used here."""

    def _top_of(self, graph: InternalGraph) -> Callable:
        top = self.scopes[0].graph
        return lambda: top

    def _add_inputs(self, scope: Scope, module: Module, structure, leaves: list) -> None:
        names = _input_names(signature_of_forward(module), structure)
        for value in leaves:
            name = next(names)
            node_kind = TensorNode if isinstance(value, Tensor) else ModuleNode
            qualname = f"{scope.graph.qualname}.[{name}]"
            is_self = not scope.graph._inputs
            node = scope.graph._add_input(
                Input(node_kind, name, scope.graph.qualname if is_self else qualname)
            )
            if isinstance(value, Tensor):
                node.describe(value)
            scope.give_node(value, node)


def _run(module: Module, *args, **kwargs):
    return module._call_with_hooks(args, kwargs)


def _holds_tensors(result, nesting: Nesting | None = None) -> bool:
    nesting = nesting or Nesting("trace_module")
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return any([_holds_tensors(part, nesting) for part in nesting.parts(result)])
    return isinstance(result, Tensor)


def _each_once(leaves: list) -> list:
    """Two arguments may be the same Tensor: each gets a separate object, to distinguish them."""
    seen: set[int] = set()
    found = []
    for leaf in leaves:
        if id(leaf) in seen and isinstance(leaf, Tensor):
            with paused():
                leaf = type(leaf)(leaf)
        seen.add(id(leaf))
        found.append(leaf)
    return found


def _check_outputs(module: Module, values: list, out_def) -> None:
    kind = type(module).__name__
    constants = [value for _, value in out_def.constants()]
    assert not constants, (
        f"[trace_module] {kind} gives {constants[0]!r}; a Module that is traced gives Tensors in"
        " containers, and no constants (traced_module.register_supported_type takes containers of"
        " your own)"
    )
    assert all(isinstance(value, Tensor) for value in values), (
        f"[trace_module] {kind} gives a Module; a Module that is traced gives Tensors"
    )


def _input_names(signature, structure) -> Iterator[str]:
    """A name for each leaf of (args, kwargs) that is not a constant."""
    args, kwargs = structure.children_defs
    yield "self"
    parameters = [] if signature is None else signature.parameters.values()
    positional = [p for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)][1:]
    for k, arg in enumerate(args.children_defs[1:]):
        if k < len(positional) and positional[k].kind != positional[k].VAR_POSITIONAL:
            yield from _leaf_names(positional[k].name, arg)
        else:
            first = next((n for n, p in enumerate(positional) if p.kind == p.VAR_POSITIONAL), k)
            name = positional[first].name if first < len(positional) else "args"
            yield from _leaf_names(f"{name}_{k - first}", arg)
    for name, arg in zip(kwargs.aux_data, kwargs.children_defs, strict=True):
        yield from _leaf_names(name, arg)


def _leaf_names(name: str, arg) -> Iterator[str]:
    count = arg.num_leaves - len(arg.constants())
    if isinstance(arg, LeafDef) or count == 1:
        yield from [name] * count
    else:
        yield from (f"{name}_{k}" for k in range(count))
