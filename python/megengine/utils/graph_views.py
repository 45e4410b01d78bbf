# SPDX-License-Identifier: Apache-2.0
"""Variables and operators of a graph, as views of it.

Each type of operator has a class, under MegEngine's name. Classes are made on first use from the
operators' definitions: ``params`` are an operator's parameters.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _mge
from ..core.operator_classes import CLASSES, operator_class
from ..core.tensor.dtype import is_dtype_equal
from ..core.tracing_state import state
from ..tensor import Tensor

# The type of open_graph, which makes these views.
_OpenGraph = Any

# Types with different names in MegEngine's graphs and files.
TYPES = {
    "BatchedMatrixMul": "BatchedMatmul",
    "ConvBiasForward": "ConvBias",
    "ConvolutionBackwardData": "ConvTranspose",
    "DeformablePSROIPoolingForward": "DeformablePSROIPooling",
    "Dropout": "DropoutForward",
    "FakeQuant": "FakeQuantForward",
    "GroupNorm": "GroupNormForward",
    "LayerNorm": "LayerNormForward",
    "NMSKeepMGB": "NMSKeep",
    "Padding": "PaddingForward",
    "Softmax": "SoftmaxForward",
}


# Modes of Elemwise whose inputs MegEngine sorts: inputs of the graph come first.
_SORTED = frozenset({"ADD", "AND", "LOG_SUM_EXP", "MAX", "MIN", "MUL", "OR", "XOR"})


class NetworkNode:
    """A variable or an operator of a graph.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(x, NetworkNode), isinstance(x.owner, NetworkNode)
        (True, True)
        >>> x.graph is net.graph, x.id != (x + 1).id
        (True, True)
    """

    if TYPE_CHECKING:
        # The class is known only at run time, and each class has different attributes.
        def __getattr__(self, name: str) -> Any: ...

    _graph: _OpenGraph
    _number: int

    @property
    def graph(self) -> _OpenGraph:
        """The graph that it is a part of."""
        return self._graph

    @property
    def id(self) -> int:
        """A number; no other variable, or no other operator, of the graph has it."""
        return self._number

    @property
    def _node(self):
        """The node itself: the graphs of ``megbrain_graph`` wrap nodes of MegEngine's library."""
        return self


class VarNode(NetworkNode, Tensor):
    """A value of a graph. Functions and operators of Tensors take it and extend the graph.

    ``int``, ``numpy`` and the like return values known before the graph runs: constants, and small
    numbers that follow from shapes; for others they raise RuntimeError.

    Args:
        var: the VarNode itself.
        name: its new name.
    Raises:
        TypeError: ``var`` is not a VarNode: a ``Network`` and functions make them.
    Example:
        >>> from megengine.utils.network import Network
        >>> x = Network().make_input_node((2, 3), "float32", name="x")
        >>> y = F.relu(x)
        >>> y.shape, x.partial_shape, x.shapeof(1).numpy()
        ((2, 3), (2, 3), array([3], dtype=int32))
        >>> x.name, VarNode.load(x) is x, x.var is x
        ('x', True, True)
        >>> x.owner, x.op, [op.type for op in x.users]
        (x{Host2DeviceCopy}, x{Host2DeviceCopy}, ['Elemwise', 'GetVarShape'])
    """

    def __new__(cls, var, *, name: str | None = None) -> "VarNode":
        if not isinstance(var, VarNode):
            raise TypeError(f"[VarNode] expected a VarNode, got {type(var).__name__}")
        return var

    def __init__(self, var, *, name: str | None = None) -> None:
        if name is not None:
            self.name = name

    @property
    def name(self) -> str:
        """Its name in files; never empty."""
        return self.graph.name(self._number)

    @name.setter
    def name(self, name: str) -> None:
        self.graph.set_name(self._number, name)

    @property
    def var(self) -> "VarNode":
        """The variable itself, for compatibility with MegEngine."""
        return self

    @property
    def id(self) -> int:
        """A number from 1 on; no other variable of the graph has it."""
        return self._number + 1

    @property
    def value(self) -> np.ndarray | None:
        """The value as an array if it is known before the graph runs, else None."""
        try:
            return self.numpy()
        except RuntimeError:
            return None

    @property
    def owner(self) -> "OpNode":
        """The operator that computes it; inputs and constants are operators, too."""
        return self.graph.operator(self.graph.owner(self._number))

    op = owner  # as variables of ``core.tensor.megbrain_graph`` have it

    @property
    def users(self) -> list["OpNode"]:
        """The operators that read it."""
        return [self.graph.operator(number) for number in self.graph.readers(self._number)]

    @property
    def partial_shape(self) -> tuple[int, ...] | None:
        """Size of each axis; None if they are known only at run time."""
        try:
            return self._tuple_shape
        except RuntimeError:
            return None

    @property
    def shape(self):
        """As ``partial_shape``; after ``set_symbolic_shape(True)`` a VarNode."""
        return _mge.ops.shape_of(self) if state.symbolic_shape else self.partial_shape

    def shapeof(self, axis: int) -> "VarNode":
        """The size of one axis, as a variable that follows the inputs.

        Args:
            axis: which one.
        Returns:
            VarNode, int32, shape ``(1,)``.
        """
        return _mge.ops.shape_of(self)[axis].reshape(1)

    def _plain(self) -> "VarNode":
        return self if self._meaning is None else self.graph.plain(self._number)

    def _reset(self, other) -> None:
        """Make this object represent the other value."""
        self.graph.rebind(self, self.graph.id_of(Tensor(other)))

    @classmethod
    def load(cls, sym_var, owner_opr: "OpNode | None" = None) -> "VarNode":
        """The variable itself; see ``VarNode``."""
        return cls(sym_var)

    def __copy__(self) -> "VarNode":
        return self

    def __deepcopy__(self, memo):
        return self.__reduce_ex__(memo)

    def __reduce_ex__(self, protocol):
        raise TypeError(
            "a VarNode is a part of a graph and cannot be copied alone: dump the Network"
        )

    def __eq__(self, other):
        try:
            return super().__eq__(other)
        except RuntimeError:
            if not isinstance(other, VarNode):
                raise
            return False  # their shapes or graphs differ

    def __bool__(self) -> bool:
        try:
            return super().__bool__()
        except RuntimeError:
            compared = self.owner.inputs if self._is_comparison() else []
            if not compared:
                raise
            # `in` and `index` of lists ask whether two variables are one.
            return compared[0] is compared[1]

    def _is_comparison(self) -> bool:
        """Whether it is ``a == b`` of two variables that are not constants."""
        op = self.owner
        return (
            op.graph_type == "Elemwise"
            and op.params["mode"] == "EQ"
            and not any(v.owner.graph_type == "ImmutableTensor" for v in op.inputs)
        )

    def __repr__(self) -> str:
        return f"VarNode:{self.name}"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _not_in_place(self, other):
    return NotImplemented


# `y += 1` rebinds the name to another value; the variable itself does not change.
for _name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split():
    setattr(VarNode, f"__i{_name}__", _not_in_place)


def converted(new, old: VarNode):
    """The variable or Tensor that takes the place of a variable, in the dtype of that.

    Raises:
        ValueError: fractions would replace integers.
    """
    if not isinstance(new, Tensor) or is_dtype_equal(new.dtype, old.dtype):
        return new
    if old.dtype.kind in "iub" and new.dtype.kind == "f":
        try:
            value = new.numpy()
            is_exact = bool((value == value.astype(old.dtype)).all())
        except RuntimeError:  # not a constant
            is_exact = False
        if not is_exact:
            raise ValueError(
                f"[Network] {old.name} is {old.dtype}, {new.name} is {new.dtype} with fractions:"
                f" convert it with astype, or rebuild the operators that read {old.name}"
            )
    return new.astype(old.dtype)


def _have_one_dtype(variables: list) -> bool:
    """Whether all are variables or Tensors of the same dtype."""
    return all(
        isinstance(variable, Tensor) and is_dtype_equal(variable.dtype, variables[0].dtype)
        for variable in variables
    )


class Assigning(list):
    """A list of variables that assigns itself to an attribute after each change.

    A copy is a plain list.

    Args:
        variables: its items.
        owner: the object with the attribute.
        name: the name of the attribute.
    """

    def __init__(self, variables: Iterable, owner: object, name: str) -> None:
        super().__init__(variables)
        self._owner, self._name = owner, name

    def remove(self, variable) -> None:
        """Remove a variable, found by identity, because ``==`` of variables makes another one.

        Raises:
            ValueError: it is not in the list.
        """
        for place, item in enumerate(self):
            if item is variable:
                del self[place]
                return
        raise ValueError(f"[{self._name}] {variable!r} is not in the list")

    def __reduce__(self):
        return list, (list(self),)


def _assigning(change: str):
    def method(self, *args, **kwargs):
        result = getattr(list, change)(self, *args, **kwargs)
        setattr(self._owner, self._name, self)
        return result

    return method


for _name in (
    "__setitem__ __delitem__ __iadd__ __imul__ append extend insert pop clear reverse sort".split()
):
    setattr(Assigning, _name, _assigning(_name))


class OpNode(NetworkNode):
    """An operator of a graph, an input, or a constant; ``params`` are its parameters by name.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> op = F.relu(x).owner
        >>> isinstance(op, OpNode), op.type, op.graph_type, op.params["mode"]
        (True, 'Elemwise', 'Elemwise', 'RELU')
        >>> op.name, OpNode.load(op) is op, x.owner.priority < op.priority
        ('relu#1', True, True)
        >>> op.inputs, op.outputs
        ([VarNode:x], (VarNode:relu#1,))
    """

    _has_params = True  # inputs and constants have no params
    _replaced_by: "OpNode | None" = None

    @property
    def name(self) -> str:
        """Its name; never empty."""
        return self.graph.operator_name(self._number)

    @name.setter
    def name(self, name: str) -> None:
        self.graph.set_operator_name(self._number, name)

    @property
    def type(self) -> str:
        """The type: ``"Convolution"`` in a ``Network``, in other graphs ``graph_type``."""
        return self.graph.type_of(self)

    @property
    def graph_type(self) -> str:
        """The type in MegEngine's graphs, such as ``"ConvolutionForward"``."""
        name = type(self).__name__
        kind = self.graph.operator_type(self._number)[0]
        return name if name in CLASSES else TYPES.get(kind, kind)

    @property
    def params(self) -> Any:
        """The parameters: a mapping, by this engine's and MegEngine's names; ``mode`` is that of
        Elemwise and Reduce. For a graph from ``load_graph``, JSON text."""
        return self.graph.params_of(self)

    @property
    def inputs(self) -> list[VarNode]:
        """Its inputs; assigning them, or an item, changes the graph.

        For commutative operators, inputs of the graph come first. Assigned variables are converted
        to the dtypes of those in their places if their own differ from each other, or if the
        operator does not support these. Inputs of a TypeCvt are never converted.

        Raises:
            ValueError: there are too few inputs, the operator would depend on itself, or fractions
                would replace integers.
            RuntimeError: the operator does not support them.
        """
        kind, mode = self.graph.operator_type(self._number)
        found = [self.graph.variable(number) for number in self.graph.inputs_of(self._number)]
        if kind == "Elemwise" and mode in _SORTED:
            found.sort(key=_place)
        return Assigning(found, self, "inputs")

    @inputs.setter
    def inputs(self, variables) -> None:
        variables = list(variables)
        is_conversion = self.graph.operator_type(self._number)[0] == "TypeCvt"
        if is_conversion or _have_one_dtype(variables):
            try:
                self._read(variables)
                return
            except RuntimeError:
                if is_conversion:
                    raise
        for place, old in enumerate(self.inputs[: len(variables)]):
            variables[place] = converted(variables[place], old)
        self._read(variables)

    def _read(self, variables: Iterable) -> None:
        """Read these variables as they are."""
        numbers = [self.graph.number_of(variable) for variable in variables]
        self.graph.set_inputs(self._number, numbers)
        self.graph.refresh()

    @property
    def outputs(self) -> tuple[VarNode, ...]:
        """Its outputs."""
        if self._replaced_by is not None:
            return self._replaced_by.outputs
        return tuple(map(self.graph.variable, self.graph.outputs_of(self._number)))

    def add_inp_var(self, x: VarNode) -> None:
        """Append an input to an operator with any number of inputs.

        Args:
            x: the new last input.
        Raises:
            RuntimeError: the operator does not support it.
        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> y = F.concat([x, x])
            >>> y.owner.add_inp_var(x)
            >>> y.shape
            (6, 3)
        """
        self.inputs = [*self.inputs, x]

    @classmethod
    def load(cls, opr: "OpNode") -> "OpNode":
        """The operator itself, because it is a view of the graph.

        Raises:
            TypeError: ``opr`` is not an operator of this class.
        """
        if not isinstance(opr, cls):
            raise TypeError(f"[{cls.__name__}.load] expected one, got {opr!r}")
        return opr

    def compile(self, graph: _OpenGraph | None = None) -> tuple[VarNode, ...]:
        """Copy the operator, with its dependencies, into a graph.

        Args:
            graph: the target graph; None: its own.
        Returns:
            The outputs in that graph.
        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> other = Network()
            >>> (y,) = F.relu(x).owner.compile(other.graph)
            >>> y.graph is other.graph
            True
        """
        graph = self.graph if graph is None else graph
        return tuple(graph.variable(graph.number_of(var)) for var in self.outputs)

    @property
    def priority(self) -> tuple[int, int]:
        """Its position: operators run in the order of the graph, without other priorities."""
        return (0, self._number)

    def __repr__(self) -> str:
        kind, mode = self.graph.operator_type(self._number)
        return f"{self.name}{{{kind}{':' * bool(mode)}{mode}}}"


class ReadOnlyOpNode(OpNode):
    """An operator without its own class in MegEngine.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(x.owner, ReadOnlyOpNode)
        False
    """


def _place(variable: VarNode) -> tuple[int, int]:
    kind, _ = variable.graph.operator_type(variable.owner._number)
    return (0, variable._number) if kind == "Host2DeviceCopy" else (1, 0)


class RNGOpr(OpNode):
    """An operator that draws random numbers.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(x.owner, RNGOpr)
        False
    """


# The module in which users find classes that are made on first use.
_HOME = f"{__package__}.network_node"
_classes: dict[str, type[OpNode]] = {}


def add_classes(*classes: type[OpNode]) -> None:
    """Declare the classes of the operators of these names."""
    _classes.update({kind.__name__: kind for kind in classes})


def class_of(kind: str) -> type[OpNode]:
    """The class of the operators of a type.

    Args:
        kind: the type in MegEngine's files, such as ``"Convolution"``.
    """
    name = operator_class(kind)
    if name not in _classes:
        base = ReadOnlyOpNode if name not in CLASSES else OpNode
        _classes[name] = _derived(name, RNGOpr if kind.endswith("RNG") else base)
    return _classes[name]


def _derived(name: str, base: type) -> type[OpNode]:
    doc = f"An operator of MegEngine's type {name}."
    doc += f"\n\n    Example:\n        >>> issubclass({name}, OpNode)\n        True\n    "
    return type(name, (base,), {"__module__": _HOME, "__doc__": doc})
