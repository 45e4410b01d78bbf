# SPDX-License-Identifier: Apache-2.0
"""A graph that may change, with one object for each of its variables and operators."""

import os
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from .. import _mge
from ..core.operands import is_whole
from ..core.tensor.dtype import is_quantize
from ..files.opening import open_input
from ..tensor import Tensor
from .compiled_graph import Compiled
from .graph_views import TYPES, OpNode, VarNode, class_of
from .operator_params import OperatorParams


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
        # Shapes of inputs, by number, that do not fit those of the other inputs yet.
        self.waiting_shapes: dict[int, list[int]] = {}

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

    def set_shape(self, number: int, shape: list[int]) -> None:
        """Set the shape of an input. One that does not fit waits for those of the other inputs.

        Raises:
            TypeError: a size is not a whole number.
            RuntimeError: a size is negative, there are too many, or the shape does not fit and
                there is no other input.
        """
        for size in shape:
            if not is_whole(size):
                raise TypeError(f"[shape] sizes must be whole numbers, got {size!r}")
        shape = [int(size) for size in shape]
        _mge.Graph().add_input("", "float32", shape, None)  # raises for a wrong shape
        try:
            self.change_shapes({number: shape})
        except RuntimeError:
            if len(self.inputs) == 1:
                raise
            self.waiting_shapes[number] = shape

    def change_shapes(self, shapes: dict[int, list[int]]) -> None:
        """Set the shapes of inputs, by number, and those that wait.

        Raises:
            RuntimeError: they do not fit, and nothing has changed.
        """
        if shapes := self.waiting_shapes | shapes:
            self.set_shapes(shapes)
            self.waiting_shapes.clear()
            self.refresh()

    def change_dtype(self, number: int, dtype) -> None:
        """Set the dtype of an input, also a quantised one.

        Raises:
            RuntimeError: an operator does not accept it, and nothing has changed.
        """
        self.set_dtype(number, np.dtype(dtype).type if is_quantize(dtype) else dtype)
        self._meanings.pop(number, None)
        if is_quantize(dtype):
            self._meanings[number] = np.dtype(dtype)
        self.refresh()

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

    def number_here(self, variable: "VarNode") -> int | None:
        """The number of a variable, or of its copy in this graph; None without a copy."""
        if variable.graph is self:
            return variable._number
        version, known = self._copied.get(variable.graph, (None, {}))
        return known.get(variable._number) if version == variable.graph._version else None

    def type_of(self, operator: "OpNode") -> str:
        """The type of an operator in the words of a ``Network``."""
        kind = self.operator_type(operator._number)[0]
        return TYPES.get(kind, kind)

    def params_of(self, operator: "OpNode"):
        """The parameters of an operator, as a ``Network`` shows them."""
        return OperatorParams(operator)

    def compile_options(self) -> dict[str, Any]:
        """The options of its compilation, by their names."""
        return {}

    def compile(self, outputs):
        """See ``Compiled``."""
        return Compiled([outputs] if isinstance(outputs, VarNode) else outputs)
