# SPDX-License-Identifier: Apache-2.0
"""Variables and operators of a ``Network``, as views of the library's graph.

Each type of operator has a class, under MegEngine's name. Classes are made on first use from the
operators' definitions: ``params`` are an operator's parameters.
"""

import sys

import numpy as np

from ..core.operator_classes import CLASSES
from ..tensor import Tensor
from .compiled_graph import at_least_vector
from .graph_views import NetworkNode, OpNode, ReadOnlyOpNode, RNGOpr, VarNode, add_classes, class_of  # noqa: F401
from .open_graph import OpenGraph

# Includes classes that are not made yet: see the end.
__all__ = sorted(CLASSES)  # noqa: PLE0605


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
        """Size of each axis. Assignment infers all shapes again.

        Sizes that do not fit those of the other inputs wait until these have new sizes, too, or
        until the network is dumped.

        Raises:
            TypeError: a size is not a whole number.
            RuntimeError: a size is negative, or the only input gets sizes that do not fit.
        """
        waiting = self.graph.waiting_shapes.get(self._number)
        return self.outputs[0].partial_shape if waiting is None else tuple(waiting)

    @shape.setter
    def shape(self, shape) -> None:
        self.graph.set_shape(self._number, list(shape))

    @property
    def dtype(self):
        """The dtype of its values. Assignment infers all dtypes again.

        Raises:
            RuntimeError: an operator does not accept the dtype.
        Example:
            >>> from megengine.utils.network import Network
            >>> x = Network().make_input_node((2,), "float32", name="x").owner
            >>> x.dtype == np.float32
            True
        """
        return self.outputs[0].dtype

    @dtype.setter
    def dtype(self, dtype) -> None:
        self.graph.change_dtype(self._number, dtype)

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
        >>> c = Network().make_const([1.0, 2.0], name="c").owner
        >>> isinstance(c, ConstOpBase), str(c.device), c.shape, c.dtype == np.float32
        (True, 'xpux:0', (2,), True)
        >>> c.set_value([3.0, 4.0])
        >>> c.numpy()
        array([3., 4.], dtype=float32)
    """

    _has_params = False

    def __new__(cls, data=None, name: str | None = None, device=None, graph=None):
        graph = OpenGraph() if graph is None else graph
        number = graph.add_constant(at_least_vector(Tensor(data, device=device)), name or "")
        return graph.operator(number)

    @property
    def device(self):
        """Its device."""
        return self.outputs[0].device

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis."""
        return self.outputs[0].partial_shape

    @property
    def dtype(self):
        """The dtype of its values."""
        return self.outputs[0].dtype

    def numpy(self) -> np.ndarray:
        """Its values."""
        return self.outputs[0].numpy()

    def set_value(self, data, device=None) -> None:
        """Replace the values; shapes are inferred again.

        Args:
            data: number or list, converted to the constant's dtype, NumPy array or Tensor.
            device: its device.
        Raises:
            RuntimeError: an operator does not support the new shape or dtype.
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


add_classes(Host2DeviceCopy, ConstOpBase, ImmutableTensor, SharedDeviceTensor)


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
