# SPDX-License-Identifier: Apache-2.0
"""Structures of values: nested containers taken apart into leaves and put together again.

A ``TreeDef`` describes the structure of a value; its leaves are ``LeafDef``. Tensors, Modules and
their nodes are separate leaf values; every other leaf is a constant and belongs to the structure,
so two calls have equal structures if they differ only in their Tensors.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import _mge
from ..autodiff import Function
from ..core.nesting import Nesting
from ..module import Module
from ..random import RNG
from ..tensor import Tensor
from .node import ModuleNode, Node, TensorNode


class NodeType(NamedTuple):
    """Functions that flatten and rebuild a container."""

    flatten: Callable
    unflatten: Callable


def _items(value: dict, is_ordered: bool) -> tuple[list, Any]:
    keys = list(value)
    if not is_ordered:
        try:
            keys.sort()
        except TypeError:
            pass  # keys of several types stay as they came
    return [value[key] for key in keys], tuple(keys)


def _container(kind: type) -> NodeType:
    return NodeType(lambda value: (list(value), None), lambda parts, _: kind(parts))


SUPPORTED_TYPE: dict[type, NodeType] = {
    list: _container(list),
    tuple: _container(tuple),
    dict: NodeType(
        lambda value: _items(value, False),
        lambda parts, keys: dict(zip(keys, parts, strict=True)),
    ),
    OrderedDict: NodeType(
        lambda value: _items(value, True),
        lambda parts, keys: OrderedDict(zip(keys, parts, strict=True)),
    ),
    defaultdict: NodeType(
        lambda value: _items(value, False),
        lambda parts, keys: defaultdict(None, zip(keys, parts, strict=True)),
    ),
    slice: NodeType(
        lambda value: ([value.start, value.stop, value.step], None),
        lambda parts, _: slice(*parts),
    ),
}

# Constants: by their very class, and with the classes derived from them.
_CONSTANT_TYPES: set[type] = {
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    type(None),
    type(Ellipsis),
    _mge.Device,
    RNG,
}
_CONSTANT_CLASSES = (np.dtype, np.ndarray, np.number, np.bool_, Function)


def is_leaf_value(value) -> bool:
    """Whether a value is a leaf that is not a constant: a Tensor, a Module, or a node."""
    return isinstance(value, (Tensor, Module, Node))


def is_constant(value) -> bool:
    """Whether a value can be a constant of a structure."""
    if type(value) in _CONSTANT_TYPES or isinstance(value, _CONSTANT_CLASSES):
        return True
    # dtypes are named by classes too: "float32" and numpy.float32 are one dtype.
    return isinstance(value, type) and issubclass(value, np.generic)


def register_supported_type(
    type: type,
    flatten_fn: Callable[[Any], tuple[list, Any]] | None = None,
    unflatten_fn: Callable[[list, Any], Any] | None = None,
) -> None:
    """Let values of a class of your own be arguments and results in traced modules.

    Args:
        type: the class, without derived ones.
        flatten_fn: returns the list of a value's parts, and auxiliary data. Without it values of
            the class are constants, which are compared by ``==``.
        unflatten_fn: makes a value from such parts and the auxiliary data.
    Raises:
        ValueError: one of the two functions is missing.
    Example:
        >>> import megengine.traced_module as T
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> T.register_supported_type(Pair, lambda p: ([p.a, p.b], None), lambda x, _: Pair(*x))
        >>> class Swap(M.Module):
        ...     def forward(self, p):
        ...         return Pair(p.b, p.a * 2)
        >>> traced = T.trace_module(Swap(), Pair(Tensor([1.0]), Tensor([2.0])))
        >>> traced(Pair(Tensor([3.0]), Tensor([4.0]))).b
        Tensor([6.], device=xpux:0)
    """
    if (flatten_fn is None) != (unflatten_fn is None):
        raise ValueError(
            "[register_supported_type] give both flatten_fn and unflatten_fn, or neither"
        )
    if flatten_fn is None:
        _CONSTANT_TYPES.add(type)
    else:
        SUPPORTED_TYPE[type] = NodeType(flatten_fn, unflatten_fn)


class ArgsIndex:
    """Represents the value at a position of a list of leaves."""

    def __init__(self, index: int = 0, name: str = ""):
        self.index = index
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _is_same(one, other) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


def _hash(value) -> int:
    try:
        return hash(value)
    except TypeError:
        return hash(type(value))


class TreeDef:
    """A container of a structure.

    Args:
        type: type of the container.
        aux_data: data besides the parts, for example the keys of a dict.
        children_defs: structures of its parts.
    """

    def __init__(self, type: type, aux_data, children_defs: list):
        self.type = type
        self.aux_data = aux_data
        self.children_defs = children_defs
        self.num_leaves = sum(child.num_leaves for child in children_defs)
        self._is_flat = type is tuple and all(isinstance(c, LeafDef) for c in children_defs)
        self._hash = hash((type, self.num_leaves, *map(hash, children_defs)))

    def unflatten(self, leaves):
        """The value with these leaves, constants included, in order."""
        if self._is_flat:
            return tuple(leaves)
        parts, start = [], 0
        for child in self.children_defs:
            parts.append(child.unflatten(leaves[start : start + child.num_leaves]))
            start += child.num_leaves
        return SUPPORTED_TYPE[self.type].unflatten(parts, self.aux_data)

    def constants(self, start: int = 0) -> list[tuple[int, Any]]:
        """(place among the leaves, value) of each constant."""
        found = []
        for child in self.children_defs:
            found += child.constants(start)
            start += child.num_leaves
        return found

    def fill(self, values) -> list:
        """All leaves: the constants, and these values in the other places."""
        constants = dict(self.constants())
        rest = iter(values)
        return [constants[k] if k in constants else next(rest) for k in range(self.num_leaves)]

    def __eq__(self, other) -> bool:
        return (
            type(other) is TreeDef
            and self.type is other.type
            and self.num_leaves == other.num_leaves
            and _is_same(self.aux_data, other.aux_data)
            and self.children_defs == other.children_defs
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return _text(self, [LeafDef.__repr__(leaf) for leaf in self._leaf_defs()])

    def _leaf_defs(self) -> list:
        found = []
        for child in self.children_defs:
            found += [child] if isinstance(child, LeafDef) else child._leaf_defs()
        return found


class LeafDef:
    """A leaf of a structure: a Tensor or Module, or a constant.

    Args:
        kind: ``Tensor``, ``Module``, or the class of a constant.
        const_val: the constant.
    """

    children_defs: list = []
    num_leaves = 1

    def __init__(self, kind: type, const_val=None):
        self.kind = kind
        self.const_val = const_val

    @property
    def is_constant(self) -> bool:
        """Whether the structure contains the value."""
        return self.kind not in (Tensor, Module)

    def unflatten(self, leaves):
        """The value."""
        return leaves[0]

    def constants(self, start: int = 0) -> list:
        """See ``TreeDef.constants``."""
        return [(start, self.const_val)] if self.is_constant else []

    def fill(self, values) -> list:
        """See ``TreeDef.fill``."""
        return [self.const_val] if self.is_constant else list(values)

    def __eq__(self, other) -> bool:
        return (
            type(other) is LeafDef
            and self.kind is other.kind
            and (not self.is_constant or _is_same(self.const_val, other.const_val))
        )

    def __hash__(self) -> int:
        return hash((self.kind, _hash(self.const_val) if self.is_constant else 0))

    def __repr__(self) -> str:
        return repr(self.const_val) if self.is_constant else self.kind.__name__


def _leaf_def(value, kind: type | None = None) -> LeafDef:
    if isinstance(value, (Tensor, TensorNode)):
        return LeafDef(Tensor)
    if isinstance(value, (Module, ModuleNode)):
        return LeafDef(Module)
    return LeafDef(type(value), value)


def flatten_tree(value, who: str = "trace_module") -> tuple[list, "TreeDef | LeafDef"]:
    """The Tensors and Modules of a value, and its structure with the constants.

    Args:
        value: nested containers.
        who: name of the function in the error.
    Returns:
        The leaves that are not constants, in order, and the structure.
    Raises:
        AssertionError: it contains a type that is neither supported nor registered.
        ValueError: its containers are nested too deep.
    """
    leaves: list = []
    nesting = Nesting(who)

    def visit(part):
        kind = SUPPORTED_TYPE.get(type(part))
        if kind is not None:
            parts, rest = kind.flatten(part)
            return TreeDef(type(part), rest, [visit(child) for child in nesting.parts(parts)])
        if is_leaf_value(part):
            leaves.append(part)
        elif not is_constant(part):
            raise AssertionError(
                f"[{who}] {part!r} is of the class {type(part).__name__}, which is neither a"
                " Tensor, a container nor a constant; register it with"
                " traced_module.register_supported_type"
            )
        return _leaf_def(part)

    structure = visit(value)
    return leaves, structure


def _text(structure, texts: list[str]) -> str:
    """The structure with these texts for its leaves."""
    if isinstance(structure, LeafDef):
        return texts[0]
    parts, start = [], 0
    for child in structure.children_defs:
        parts.append(_text(child, texts[start : start + child.num_leaves]))
        start += child.num_leaves
    if structure.type is list:
        return "[" + ", ".join(parts) + "]"
    if structure.type is tuple:
        return "(" + ", ".join(parts) + ")"
    if structure.type is slice:
        return "slice(" + ", ".join(parts) + ")"
    if structure.type in (dict, OrderedDict, defaultdict):
        items = zip(structure.aux_data, parts, strict=True)
        return "{" + ", ".join(f"{key!r}:{part}" for key, part in items) + "}"
    return f"{structure.type.__name__}({', '.join(parts)})"


def tree_flatten(values) -> tuple[list, "TreeDef | LeafDef"]:
    """The leaves of a value, constants included, and its structure, which ``unflatten``s them.

    Args:
        values: nested containers.
    Raises:
        AssertionError: it contains a type that is neither supported nor registered.
    Example:
        >>> leaves, structure = tree_flatten({"a": 1, "b": [2, 3]})
        >>> leaves, structure.unflatten(leaves)
        ([1, 2, 3], {'a': 1, 'b': [2, 3]})
    """
    variables, structure = flatten_tree(values)
    return structure.fill(variables), structure
