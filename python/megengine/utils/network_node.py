# SPDX-License-Identifier: Apache-2.0
"""Variables and operators of a ``Network``, as views of the library's graph.

Each type of operator has a class, under MegEngine's name. Classes are made on first use from the
operators' definitions: ``params`` are an operator's parameters.
"""

import os
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from .. import _mge
from ..core.operator_classes import CLASSES, operator_class
from ..core.tensor.dtype import is_quantize
from ..core.tracing_state import state
from ..files.opening import open_input
from ..tensor import Tensor
from .compiled_graph import Compiled, at_least_vector
from .operator_params import OperatorParams

# Includes classes that are not made yet: see the end.
__all__ = sorted(CLASSES)  # noqa: PLE0605


class OpenGraph(_mge.Graph):
    """A graph with one object for each of its variables and operators.

    Args:
        data: path or bytes of a model file of any format; empty: an empty graph.
        label: name of the bytes in errors.
    """

    def __init__(
        self, data: str | bytes | None = None, label: str = "", key: bytes | None = None
    ) -> None:
        super().__init__(data, label, key)
        self._variables: WeakValueDictionary[int, VarNode] = WeakValueDictionary()
        self._operators: WeakValueDictionary[int, OpNode] = WeakValueDictionary()
        self._meanings: dict[int, Any] = {}  # dtypes of quantised inputs and constants
        # By other graph: its change count at the time of the copy, and the copied numbers here.
        self._copied: WeakKeyDictionary[OpenGraph, tuple[int, dict[int, int]]] = WeakKeyDictionary()
        self._version = 0
        # For core.tensor.megbrain_graph: values of inputs by name, and of variables by number.
        self.feeds: dict[str, Tensor] = {}
        self.results: dict[int, Tensor] = {}
        self.without_shape: set[int] = set()  # numbers of inputs that were made without a shape
        self.optimisations: dict[str, Any] = {}  # that a dump writes down

    @classmethod
    def load(cls, file, key: bytes | None = None) -> "OpenGraph":
        """The graph of a model file of any kind.

        Args:
            file: path, or a binary file object, which is read to the end.
            key: key of an encrypted model.
        Raises:
            RuntimeError: it is not a model, is damaged, or has another key.
        """
        has_content = hasattr(file, "read")
        name = str(getattr(file, "name", "a file object")) if has_content else os.fsdecode(file)
        label = name.encode(errors="backslashreplace").decode()
        if has_content:
            return cls(file.read(), label, key)
        if os.path.isfile(file) and label == name:  # its weights are mapped
            return cls(name, key=key)
        with open_input(file) as stream:
            return cls(stream.read(), label, key)

    def variable(self, number: int) -> "VarNode":
        """The object for a value; the extension module calls this for results, too."""
        found = self._variables.get(number)
        if found is None:
            found = super(VarNode, VarNode).__new__(VarNode)
            self.rebind(found, number)
            if number in self._meanings:
                found._meant_as(self._meanings[number])
        return found

    def new_input(self, name: str | None, dtype, shape=None, device=None) -> "VarNode":
        """Add an input. Without a shape it is of rank 1 until it replaces another variable."""
        place = None if device is None else str(device)
        number = self.add_input(name or "", dtype, list(shape or (1,)), place)
        if not shape:
            self.without_shape.add(number)
        return self.variable(number)

    def give_shapes(self, shapes: dict[int, tuple[int, ...]]) -> None:
        """Set the shapes, by number, of those inputs that were made without one."""
        lacking = {number: list(shapes[number]) for number in shapes.keys() & self.without_shape}
        if lacking:
            self.set_shapes(lacking)
            self.without_shape -= lacking.keys()

    def add_input(self, name: str, dtype, shape: list[int], device=None) -> int:
        """Add an input, also of a quantised dtype; returns its number."""
        if not is_quantize(dtype):
            return super().add_input(name, dtype, shape, device)
        number = super().add_input(name, np.dtype(dtype).type, shape, device)
        self._meanings[number] = np.dtype(dtype)
        return number

    def add_constant(self, tensor: Tensor, name: str) -> int:
        """Add a constant, also of a quantised dtype; returns its number."""
        number = super().add_constant(tensor, name)
        if tensor._meaning is not None:
            self._meanings[number] = tensor._meaning
        return number

    def operator(self, number: int) -> "OpNode":
        """The object for an operator, by the number of its first output."""
        found = self._operators.get(number)
        if found is None:
            found = object.__new__(class_of(self.operator_type(number)[0]))
            found._graph, found._number = self, number
            self._operators[number] = found
        return found

    def rebind(self, variable: "VarNode", number: int) -> None:
        """Rebind a variable to a value; item assignment does that, too.

        Raises:
            TypeError: ``variable`` is a Tensor, which cannot become a part of a graph.
        """
        if not isinstance(variable, VarNode):
            raise TypeError(
                "a Tensor cannot become a value of a graph: take a variable (Network.make_const),"
                " and put Modules that update Tensors, as normalisations do, into evaluation mode"
            )
        old = vars(variable).get("_number")
        if self._variables.get(old) is variable:
            del self._variables[old]
        self._bind(variable, number)
        self._variables[number] = variable

    def _bind(self, variable: "VarNode", number: int) -> None:
        self.bind(variable, number)
        variable._graph, variable._number = self, number

    def plain(self, number: int) -> "VarNode":
        """A further object for a value, without the meaning of its elements."""
        made = super(VarNode, VarNode).__new__(VarNode)
        self._bind(made, number)
        return made

    def refresh(self) -> None:
        """After a change to the graph: shapes may be others."""
        self.results.clear()
        self._version += 1
        for number, variable in list(self._variables.items()):
            self.bind(variable, number)

    def number_of(self, variable) -> int:
        """The number of a variable of this graph, or of the copy of another's or of a Tensor.

        Raises:
            TypeError: it has another type.
        """
        if not isinstance(variable, Tensor):
            raise TypeError(f"expected a VarNode or a Tensor, got {type(variable).__name__}")
        if not isinstance(variable, VarNode):
            number = self.id_of(variable)
            if variable._meaning is not None:
                self._meanings[number] = variable._meaning
            return number
        if variable.graph is self:
            return variable._number
        source = variable.graph
        version, known = self._copied.get(source, (source._version, {}))
        if version != source._version:
            known = {}
        (number,), known = self.copy_from(source, [variable._number], known)
        self._copied[source] = source._version, known
        return number

    def type_of(self, operator: "OpNode") -> str:
        """The type of an operator in the words of a ``Network``."""
        kind = self.operator_type(operator._number)[0]
        return _TYPES.get(kind, kind)

    def params_of(self, operator: "OpNode"):
        """The parameters of an operator, as a ``Network`` shows them."""
        return OperatorParams(operator)

    def compile_options(self) -> dict[str, Any]:
        """The options of its compilation, by their names."""
        return {}

    def compile(self, outputs):
        """See ``Compiled``."""
        return Compiled([outputs] if isinstance(outputs, VarNode) else outputs)


# Types with different names in MegEngine's graphs and files.
_TYPES = {
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
    """

    if TYPE_CHECKING:
        # The class is known only at run time, and each class has different attributes.
        def __getattr__(self, name: str) -> Any: ...

    _graph: OpenGraph
    _number: int

    @property
    def graph(self) -> OpenGraph:
        """The graph that it is a part of.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.graph is net.graph
            True
        """
        return self._graph

    @property
    def id(self) -> int:
        """A number; no other variable, or no other operator, of the graph has it.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.id != (x + 1).id
            True
        """
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
        >>> (x * 2).shape
        (2, 3)
        >>> x.name, VarNode.load(x) is x
        ('x', True)
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
        """The variable itself, for compatibility with MegEngine.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.var is x
            True
        """
        return self

    @property
    def owner(self) -> "OpNode":
        """The operator that computes it; inputs and constants are operators, too.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.owner
            x{Host2DeviceCopy}
        """
        return self.graph.operator(self.graph.owner(self._number))

    op = owner  # as variables of ``core.tensor.megbrain_graph`` have it

    @property
    def users(self) -> list["OpNode"]:
        """The operators that read it.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> y = F.relu(x)
            >>> [op.type for op in x.users]
            ['Elemwise']
        """
        return [self.graph.operator(number) for number in self.graph.readers(self._number)]

    @property
    def partial_shape(self) -> tuple[int, ...] | None:
        """Size of each axis; None if they are known only at run time.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.partial_shape
            (2, 3)
        """
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
        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.shapeof(1).numpy()
            array([3], dtype=int32)
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

    def __repr__(self) -> str:
        return f"VarNode:{self.name}"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _not_in_place(self, other):
    return NotImplemented


# `y += 1` rebinds the name to another value; the variable itself does not change.
for _name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split():
    setattr(VarNode, f"__i{_name}__", _not_in_place)


class OpNode(NetworkNode):
    """An operator of a graph, an input, or a constant; ``params`` are its parameters by name.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> op = F.relu(x).owner
        >>> isinstance(op, OpNode), op.type, op.inputs
        (True, 'Elemwise', (VarNode:x,))
        >>> op.name, OpNode.load(op) is op
        ('relu#1', True)
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
        """The type in MegEngine's graphs, such as ``"ConvolutionForward"``.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> F.relu(x).owner.graph_type
            'Elemwise'
        """
        name = type(self).__name__
        kind = self.graph.operator_type(self._number)[0]
        return name if name in CLASSES else _TYPES.get(kind, kind)

    @property
    def params(self) -> Any:
        """The parameters: a mapping, by this engine's and MegEngine's names; ``mode`` is that of
        Elemwise and Reduce. For a graph from ``load_graph``, JSON text.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> F.relu(x).owner.params["mode"]
            'RELU'
        """
        return self.graph.params_of(self)

    @property
    def inputs(self) -> tuple[VarNode, ...]:
        """Its inputs; assignment changes the graph. For commutative operators, inputs of the graph
        come first.

        Raises:
            ValueError: there are too few inputs, or the operator would depend on itself.
            RuntimeError: the operator does not support them.
        """
        kind, mode = self.graph.operator_type(self._number)
        found = [self.graph.variable(number) for number in self.graph.inputs_of(self._number)]
        return tuple(sorted(found, key=_place) if kind == "Elemwise" and mode in _SORTED else found)

    @inputs.setter
    def inputs(self, variables) -> None:
        numbers = [self.graph.number_of(variable) for variable in variables]
        self.graph.set_inputs(self._number, numbers)
        self.graph.refresh()

    @property
    def outputs(self) -> tuple[VarNode, ...]:
        """Its outputs.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.owner.outputs
            (VarNode:x,)
        """
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

    def compile(self, graph: OpenGraph | None = None) -> tuple[VarNode, ...]:
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
        """Its position: operators run in the order of the graph, without other priorities.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> x = net.make_input_node((2, 3), "float32", name="x")
            >>> x.owner.priority < F.relu(x).owner.priority
            True
        """
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
    return (0, variable._number) if isinstance(variable.owner, Host2DeviceCopy) else (1, 0)


class Host2DeviceCopy(OpNode):
    """An input of a graph.

    Args:
        shape: size of each axis.
        dtype: its dtype.
        name: its name.
        device: its device; None: that of the graph.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(x.owner, Host2DeviceCopy), x.owner.shape
        (True, (2,))
        >>> x.owner.device
        xpux:0
    """

    _has_params = False

    def __new__(cls, shape=None, dtype=None, name: str | None = None, device=None):
        graph = OpenGraph()
        number = graph.add_input(name or "", dtype or "float32", list(shape or ()), device)
        return graph.operator(number)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis; to assign it infers all shapes anew."""
        return self.outputs[0].partial_shape

    @shape.setter
    def shape(self, shape) -> None:
        self.graph.set_shapes({self._number: list(shape)})
        self.graph.refresh()

    @property
    def dtype(self):
        """The dtype of its values.

        Example:
            >>> from megengine.utils.network import Network
            >>> x = Network().make_input_node((2,), "float32", name="x").owner
            >>> x.dtype == np.float32
            True
        """
        return self.outputs[0].dtype

    @property
    def device(self):
        """Its device."""
        return self.outputs[0].device


class ConstOpBase(OpNode):
    """A constant of a graph.

    Args:
        data: number, list, NumPy array or Tensor.
        name: its name.
        device: its device.
        graph: the graph that gets it; None: a new one.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(net.make_const([1.0]).owner, ConstOpBase)
        True
    """

    _has_params = False

    def __new__(cls, data=None, name: str | None = None, device=None, graph=None):
        graph = OpenGraph() if graph is None else graph
        number = graph.add_constant(at_least_vector(Tensor(data, device=device)), name or "")
        return graph.operator(number)

    @property
    def device(self):
        """Its device.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> c = net.make_const([1.0, 2.0], name="c").owner
            >>> str(c.device)
            'xpux:0'
        """
        return self.outputs[0].device

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> c = net.make_const([1.0, 2.0], name="c").owner
            >>> c.shape
            (2,)
        """
        return self.outputs[0].partial_shape

    @property
    def dtype(self):
        """The dtype of its values.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> c = net.make_const([1.0, 2.0], name="c").owner
            >>> c.dtype == np.float32
            True
        """
        return self.outputs[0].dtype

    def numpy(self) -> np.ndarray:
        """Its values.

        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> c = net.make_const([1.0, 2.0], name="c").owner
            >>> c.numpy()
            array([1., 2.], dtype=float32)
        """
        return self.outputs[0].numpy()

    def set_value(self, data, device=None) -> None:
        """Replace the values; shapes are inferred again.

        Args:
            data: number or list, converted to the constant's dtype, NumPy array or Tensor.
            device: its device.
        Raises:
            RuntimeError: an operator does not support the new shape or dtype.
        Example:
            >>> from megengine.utils.network import Network
            >>> net = Network()
            >>> c = net.make_const([1.0, 2.0], name="c").owner
            >>> c.set_value([3.0, 4.0])
            >>> c.numpy()
            array([3., 4.], dtype=float32)
        """
        if not isinstance(data, (np.ndarray, Tensor)):
            data = np.asarray(data, self.dtype)
        self.graph.set_constant(self._number, at_least_vector(Tensor(data, device=device)))
        self.graph.refresh()


class ImmutableTensor(ConstOpBase):
    """A constant.

    Example:
        >>> ImmutableTensor([1.0, 2.0]).outputs[0].shape
        (2,)
    """


class SharedDeviceTensor(ConstOpBase):
    """MegEngine's other kind of constants; all of a loaded file are ``ImmutableTensor``.

    Example:
        >>> SharedDeviceTensor([1.0, 2.0]).outputs[0].shape
        (2,)
    """


class RNGOpr(OpNode):
    """An operator that draws random numbers.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(x.owner, RNGOpr)
        False
    """


def class_of(kind: str) -> type[OpNode]:
    """The class of the operators of a type.

    Args:
        kind: the type in MegEngine's files, such as ``"Convolution"``.
    """
    name = operator_class(kind)
    module = sys.modules[__name__]
    if name not in vars(module):
        base = ReadOnlyOpNode if name not in CLASSES else OpNode
        setattr(module, name, _derived(name, RNGOpr if kind.endswith("RNG") else base))
    return vars(module)[name]


def _derived(name: str, base: type) -> type[OpNode]:
    doc = f"An operator of MegEngine's type {name}."
    doc += f"\n\n    Example:\n        >>> issubclass({name}, OpNode)\n        True\n    "
    return type(name, (base,), {"__module__": __name__, "__doc__": doc})


def str_to_mge_class(classname: str) -> type[OpNode]:
    """The class of operators with this name; ``ReadOnlyOpNode`` for an unknown one.

    Args:
        classname: such as ``"ConvolutionForward"``.
    Example:
        >>> str_to_mge_class("MatrixMul").__name__
        'MatrixMul'
    """
    return getattr(sys.modules[__name__], classname, ReadOnlyOpNode)


def __getattr__(name: str) -> type[OpNode]:
    """The class of a type that no graph has shown yet."""
    if name not in CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return class_of(name)
