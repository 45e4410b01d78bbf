# SPDX-License-Identifier: Apache-2.0
"""The results of a traced module's expressions: placeholders for Tensors and Modules."""

from typing import TYPE_CHECKING, Any

from ..core.tensor.qparams import QParams
from ..module import Module
from ..tensor import Tensor
from .graph_member import GraphMember
from .recording import current, inserting, needed_inserting

# Formats for printing: "i" shows ids, "p" the graph's name, "ip" both.
FORMATS = ("", "i", "p", "ip")


class Node(GraphMember):
    """The result of an expression.

    Args:
        expr: the expression that computes it.
        name: its name in the graph; None until the graph sets one.
        qualname: its origin in the traced module: ``"Net.block.[out]"``.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> [type(user).__name__ for user in graph.inputs[1].users]
        ['CallFunction']
    """

    if TYPE_CHECKING:
        # The class is known only at run time, and each class has different attributes.
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, expr, name: str | None = None, qualname: str | None = None):
        self.expr = expr
        self.users: list = []  # expressions, once for each input that is this node
        self._id: int | None = None
        self._name = name
        self._qualname = qualname
        self._graph = None  # the graph that it is a value of

    @classmethod
    def _set_next_id(cls, id: int = 0) -> None:
        """Without effect: each traced module counts its nodes by itself."""

    @property
    def id(self) -> int | None:
        """Its number in the outermost traced module.

        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> node = traced.graph.outputs[0]
            >>> node.id
            3
        """
        return self._id

    @property
    def name(self) -> str:
        """Its name: unique in its graph, an identifier. It can be set.

        Raises:
            AssertionError: another node of the graph has the name.
            ValueError: it is not an identifier.
        Example:
            >>> import megengine.traced_module as T
            >>> graph = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
            >>> graph.outputs[0].name = "result"
            >>> graph.outputs
            [result]
        """
        return self._name

    @name.setter
    def name(self, new: str) -> None:
        if not (isinstance(new, str) and new.isidentifier()):
            raise ValueError(f"[Node] a name is an identifier, got {new!r}")
        names = self._graph._namespace
        assert new not in names.used_names, (
            f"[Node] the name {new!r} is already in use; another node of the graph has it"
        )
        names.unassociate_name_with_obj(self)
        names.associate_name_with_obj(new, self)
        self._name = new

    @property
    def qualname(self) -> str:
        """Its origin in the traced module.

        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> node = traced.graph.outputs[0]
            >>> node.qualname
            'Sequential.0.[out]'
        """
        return self._qualname

    def __format__(self, spec: str = "") -> str:
        name = self._name or "?"
        if "p" in spec and spec in FORMATS and self._graph is not None:
            name = f"{self._graph._name}_{name}"
        return f"%{self._id}_{name}" if "i" in spec and spec in FORMATS else name


class ModuleNode(Node):
    """A node that represents a Module.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), F.ones(2)).graph
        >>> graph.inputs[0].module_type.__name__
        'Module'
    """

    module_type: type = Module  # the class of a module that is not traced into

    @property
    def owner(self):
        """The Module itself.

        Returns:
            The Module; None for a node outside of traced modules, and for modules in arguments.
        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> node = traced.graph.outputs[0]
            >>> traced.graph.inputs[0].owner is traced
            True
        """
        return self.expr.module_of() if self._graph is not None else None

    def __getattr__(self, name: str):
        if hasattr(type(self), name):
            # A property has failed: its own error says why.
            return object.__getattribute__(self, name)
        surgeon = None if name.startswith("__") else inserting()
        if surgeon is None:
            raise AttributeError(f"'ModuleNode' object has no attribute '{name}'")
        return surgeon.attribute(self, name)

    def __call__(self, *args, **kwargs):
        return needed_inserting("ModuleNode")._value_of(self)(*args, **kwargs)


class TensorNode(Node):
    """A node that represents a Tensor.

    Args:
        expr: the expression that computes it.
        name: its name in the graph.
        qualname: its origin.
        shape: its shape, if known.
        dtype: its dtype, if known.
        qparams: its quantisation parameters, if known.
    Raises:
        TypeError: ``qparams`` has another type.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> module = trace_module(Net(), F.ones(2))
        >>> graph = module.graph
        >>> graph.outputs[0].shape
        ()
        >>> with graph.insert_exprs():  # calls of nodes extend the graph
        ...     mean = graph.inputs[1].reshape(2, 1).astype("float32").mean()
        >>> graph.replace_node({graph.outputs[0]: mean})
        >>> _ = graph.compile()
        >>> graph.outputs[0].shape
        ()
    """

    def __init__(self, expr, name=None, qualname=None, shape=None, dtype=None, qparams=None):
        super().__init__(expr, name, qualname)
        self._shape = shape
        self._dtype = dtype
        self._device = None
        self._value = None
        self.qparams = qparams

    @property
    def shape(self):
        """Its shape when it was recorded, a tuple; where expressions are inserted, a new node."""
        surgeon = None if current.is_paused else inserting()
        return self._shape if surgeon is None else surgeon.shape_of(self)

    @shape.setter
    def shape(self, shape) -> None:
        self._shape = tuple(shape)

    @property
    def dtype(self):
        """Its dtype when it was recorded.

        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> node = traced.graph.outputs[0]
            >>> node.dtype
            dtype('float32')
        """
        return self._dtype

    @dtype.setter
    def dtype(self, dtype) -> None:
        self._dtype = dtype

    @property
    def device(self):
        """Its device during recording.

        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> node = traced.graph.outputs[0]
            >>> node.device
            'xpux:0'
        """
        return self._device

    @device.setter
    def device(self, device) -> None:
        self._device = device

    @property
    def qparams(self) -> QParams | None:
        """Its quantisation parameters during recording, in quantisation-aware training."""
        return self._qparams

    @qparams.setter
    def qparams(self, qparams: QParams | None) -> None:
        if not isinstance(qparams, QParams | None):
            raise TypeError(f"[TensorNode] qparams are QParams, got {type(qparams).__name__}")
        self._qparams = qparams

    @property
    def value(self):
        """A Tensor for inserting expressions; None: a Tensor of zeros."""
        return self._value

    @value.setter
    def value(self, value) -> None:
        self._value = value

    def describe(self, tensor) -> None:
        """Take over the shape, dtype, device and ``qparams`` of a Tensor."""
        self._qparams = tensor._qparams
        self._shape = tensor._tuple_shape
        self._dtype = tensor.dtype
        self._device = str(tensor.device)


class NodeMixin:
    """The nodes that values have while a module is traced.

    Example:
        >>> NodeMixin.get(Tensor([1.0]), None) is None  # nothing is traced
        True
        >>> NodeMixin.get_wrapped_type(Tensor([1.0])).__name__
        'TensorNode'
    """

    @classmethod
    def wrap(cls, value, node) -> None:
        """Bind a Tensor or Module to a node.

        Args:
            value: the Tensor or Module.
            node: the node, or a function that makes it.
        Raises:
            RuntimeError: no module is being traced.
        """
        scope = cls._scope()
        if scope is None:
            raise RuntimeError("[NodeMixin] nothing is traced, so values have no nodes")
        scope.give_node(value, node() if callable(node) else node)

    @classmethod
    def wrap_safe(cls, value, node) -> None:
        """As ``wrap``, for a value without a node.

        Raises:
            RuntimeError: it has a node, or no module is being traced.
        """
        if cls.get(value, None) is not None:
            raise RuntimeError(f"[NodeMixin] the value has the node {cls.get(value)!r} already")
        cls.wrap(value, node)

    @classmethod
    def clear_node(cls, value) -> None:
        """Take its node away from a value."""
        scope = cls._scope()
        if scope is not None:
            scope.nodes.pop(id(value), None)

    @classmethod
    def get(cls, value, *default):
        """The node of a value.

        Args:
            value: the Tensor or Module.
            default: returned if it has no node.
        Raises:
            AttributeError: it has no node, and there is no default.
        """
        scope = cls._scope()
        node = None if scope is None else scope.node_of(value)
        if node is None and not default:
            raise AttributeError("[NodeMixin] the value has no node")
        return default[0] if node is None else node

    @classmethod
    def get_wrapped_type(cls, value) -> type:
        """The class of node for a value.

        Raises:
            TypeError: it is neither a Tensor nor a Module.
        """
        if isinstance(value, (Tensor, TensorNode)):
            return TensorNode
        if isinstance(value, (Module, ModuleNode)):
            return ModuleNode
        raise TypeError(f"[NodeMixin] nodes are for Tensors and Modules, got {value!r}")

    @staticmethod
    def _scope():
        return None if current.recorder is None else current.recorder.scope
