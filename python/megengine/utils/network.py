# SPDX-License-Identifier: Apache-2.0
"""Models as graphs that can be looked at, changed and written again: graph surgery.

A ``Network`` is a view of the library's graph. Its variables are Tensors: every function of
``megengine.functional`` takes them and extends the graph.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from ..core._trace_option import set_symbolic_shape  # noqa: F401
from ..files.model_metadata import NO_METADATA, foreign_metadata, metadata_of
from ..jit import dumping
from ..logger import get_logger
from ..tensor import Tensor
from .graph_views import Assigning, converted
from .graph_walk import find_vars_by_name, get_dep_vars, get_oprs_seq
from .network_node import (
    ConstOpBase,
    OpenGraph,
    OpNode,
    VarNode,
)
from .node_filter import (  # noqa: F401
    NodeFilter,
    NodeFilterCheckType,
    NodeFilterHasInput,
    NodeFilterName,
    NodeFilterNotType,
    NodeFilterType,
)


def as_varnode(obj) -> VarNode:
    """The variable that an object represents.

    Args:
        obj: a VarNode, an OpNode with one output, or a list of one of them.
    Raises:
        AssertionError: it has another type.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> as_varnode(net.make_const([1.0], name="x")).name
        'x'
    """
    (node,) = obj if isinstance(obj, (list, tuple)) and len(obj) == 1 else (obj,)
    if isinstance(node, OpNode):
        (node,) = node.outputs
    if not isinstance(node, VarNode):
        raise AssertionError(
            f"[as_varnode] {obj!r} is neither a VarNode nor an OpNode with one output"
        )
    return node


def as_oprnode(obj) -> OpNode:
    """The operator that an object represents.

    Args:
        obj: an OpNode, a VarNode, which represents its owner, or a list of one of them.
    Raises:
        AssertionError: it has another type.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> as_oprnode(net.make_const([1.0], name="x")).type
        'ImmutableTensor'
    """
    (node,) = obj if isinstance(obj, (list, tuple)) and len(obj) == 1 else (obj,)
    if isinstance(node, VarNode):
        node = node.owner
    if not isinstance(node, OpNode):
        raise AssertionError(f"[as_oprnode] {obj!r} is neither an OpNode nor a VarNode")
    return node


class Network:
    """A graph with named inputs and outputs.

    Example:
        >>> from megengine.utils.network_node import Host2DeviceCopy
        >>> net = Network()
        >>> x = net.make_input_node((2, 3), "float32", name="x")
        >>> y = x * 2
        >>> y.name = "y"
        >>> net.add_output(y)
        >>> net.all_oprs
        [x{Host2DeviceCopy}, constant#1{ImmutableTensor}, y{Elemwise:MUL}]
        >>> net.input_vars, net.all_vars, net.dest_vars
        ([VarNode:x], [VarNode:x, VarNode:constant#1, VarNode:y], [VarNode:y])
        >>> net.output_vars == net.dest_vars
        True
        >>> net.get_var_receive_oprs(x), net.get_dep_oprs(x)
        ([y{Elemwise:MUL}], [x{Host2DeviceCopy}])
        >>> net.get_opr_by_type(Host2DeviceCopy), net.get_opr_by_name("x"), net.get_var_by_name("x")
        (x{Host2DeviceCopy}, x{Host2DeviceCopy}, VarNode:x)
        >>> net.data_providers_filter.as_unique(), net.params_filter.as_unique()
        (x{Host2DeviceCopy}, constant#1{ImmutableTensor})
        >>> net.opr_filter.as_count(), net.var_filter.as_count()
        (3, 3)
        >>> list(net.all_oprs_dict), list(net.all_vars_dict)
        (['x', 'constant#1', 'y'], ['x', 'constant#1', 'y'])
        >>> net.all_oprs_map[x.owner.id], net.all_vars_map[x.id]
        (x{Host2DeviceCopy}, VarNode:x)
    """

    def __init__(self) -> None:
        self.graph = OpenGraph()
        self._is_loaded = False
        self._optimisations: dict = {}

    @classmethod
    def load(
        cls, model_path, outspec: list[str] | None = None, *, key: bytes | None = None
    ) -> "Network":
        """Read a model file of any kind: .mge, MegEngine's, packed, encrypted by ``mge-crypt``.

        Args:
            model_path: path, or a binary file object.
            outspec: names of the variables to use as outputs; None: those of the file.
            key: the 32-byte key of an encrypted model; with a key, an unencrypted model is refused.
        Raises:
            AssertionError: no variable has such a name.
            RuntimeError: the file is damaged, has operators without a counterpart, or is encrypted
                with another key.
        Example:
            >>> net = Network()
            >>> y = F.relu(net.make_input_node((2,), "float32", name="x"))
            >>> y.name = "y"
            >>> net.add_output(y)
            >>> _ = net.dump("net.mge")
            >>> [var.name for var in Network.load("net.mge").dest_vars]
            ['y']
        """
        net = cls()
        net.graph = OpenGraph.load(model_path, key)
        net._is_loaded = True
        if outspec is not None:
            net.output_vars = find_vars_by_name(net.dest_vars, outspec)
        return net

    @property
    def metadata(self) -> dict | None:
        """Metadata of the file: ``user_info``, ``graph_modified``, …; None without metadata.

        Raises:
            UnsafePickleError: ``user_info`` is more than plain data; it is not unpickled.
        Example:
            >>> net = Network()
            >>> net.metadata["graph_modified"]
            False
        """
        if not self._is_loaded:
            return dict(NO_METADATA)
        return metadata_of(self.graph.metadata, dumping.KEYWORDS)

    def optimize_for_inference(self, dest_vars, **kwargs) -> list[VarNode]:
        """Request optimisations that are applied when the network is dumped or when the file runs.

        Args:
            dest_vars: the outputs.
            kwargs: ``enable_ioc16``, ``enable_nchw88``, …: those of ``jit.trace.dump``.
        Returns:
            The outputs.
        Raises:
            ValueError: there is no such option.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> y = F.relu(x)
            >>> net.add_output(*net.optimize_for_inference([y], enable_ioc16=True))
        """
        dumping.optimisations(kwargs, True)  # they exist and agree
        self._optimisations |= kwargs
        return list(dest_vars)

    def dump(
        self,
        file,
        *,
        keep_var_name: int = 1,
        keep_opr_name: bool = False,
        keep_param_name: bool = False,
        keep_opr_priority: bool = False,
        strip_info_file=None,
        append_json: bool = False,
        optimize_for_inference: bool = True,
        append: bool = False,
        user_info=None,
        enable_metadata: bool = True,
        dump_format: str | None = None,
        compat_older_version: str | None = None,
        **kwargs,
    ) -> dumping.DumpInfo:
        """Write the operators that the outputs need as a .mge file.

        Args:
            file: path, or a binary file object.
            keep_var_name, keep_opr_name, keep_param_name: as in ``jit.trace.dump``.
            keep_opr_priority, dump_format, compat_older_version: no effect.
            strip_info_file, append_json, append: as in ``jit.trace.dump``.
            optimize_for_inference, user_info, enable_metadata: as there.
            kwargs: as there, such as ``enable_ioc16``. ``arg_names`` and ``output_names`` have no
                effect except a warning: rename the variables instead.
        Returns:
            As ``jit.trace.dump``.
        Raises:
            ValueError: there is no output, two have the same name, or an option does not exist.
            RuntimeError: the shapes that were assigned to inputs do not fit.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> y = x * 2
            >>> y.name = "y"
            >>> net.add_output(y)
            >>> net.dump("net.mge").outputs
            ['y']
        """
        dumping.check_format(dump_format)
        renaming = {name: kwargs.pop(name, None) for name in ("arg_names", "output_names")}
        dumping.warn_of(
            keep_opr_priority=keep_opr_priority,
            dump_format=dump_format,
            compat_older_version=compat_older_version,
            **renaming,
        )
        requested = self._optimisations | (kwargs if optimize_for_inference else {})
        options = dumping.optimisations(self._optimisations, True)
        options |= dumping.optimisations(kwargs, optimize_for_inference)
        metadata = foreign_metadata(self.graph.metadata)
        if enable_metadata:
            metadata |= dumping.metadata(user_info, True, optimize_for_inference, requested)
        names = dumping.kept_names(keep_var_name, keep_opr_name, keep_param_name)
        model = self._to_model(metadata, options, names, optimize_for_inference)
        return dumping.write_model(
            model, file, append=append, strip_info_file=strip_info_file, append_json=append_json
        )

    def _to_model(self, metadata: dict[str, str], options: dict, names, folds_batch_norms: bool):
        outputs = self.dest_vars
        if not outputs:
            raise ValueError("[dump] the network has no outputs: add_output gives it some")
        self._set_waiting_shapes()
        numbers = [var._number for var in outputs]
        output_names = [var.name for var in outputs]
        model = self.graph.to_model(numbers, output_names, metadata, options, names)
        if folds_batch_norms:
            model.fold_batch_norms()
        return model

    def _set_waiting_shapes(self) -> None:
        """Set the shapes that wait, and forget those of inputs that no output needs."""
        needed = {opr._number for opr in self.data_providers_filter}
        for number in self.graph.waiting_shapes.keys() - needed:
            del self.graph.waiting_shapes[number]
        self.graph.change_shapes({})

    def make_const(self, data, name: str | None = None, device=None) -> VarNode:
        """Make a constant.

        Args:
            data: number, list, NumPy array or Tensor.
            name: its name.
            device: its device.
        Returns:
            VarNode; for a number, with shape ``(1,)``.
        Example:
            >>> net = Network()
            >>> net.make_const([1.0, 2.0], name="c").numpy()
            array([1., 2.], dtype=float32)
        """
        return ConstOpBase(data, name, device, self.graph).outputs[0]

    def make_input_node(self, shape, dtype, name: str | None = None, device=None) -> VarNode:
        """Make an input.

        Args:
            shape: size of each axis.
            dtype: its dtype.
            name: its name.
            device: its device; None: that of the graph.
        Returns:
            VarNode.
        """
        number = self.graph.add_input(name or "", dtype, list(shape), device)
        return self.graph.variable(number)

    def add_output(self, *vars: Tensor) -> None:
        """Make variables outputs; those of another graph are copied with their dependencies.

        Args:
            vars: variables with names, which identify outputs in the file.
        Raises:
            AssertionError: an argument is not a VarNode.
        """
        self.output_vars += vars

    def remove_output(self, *vars: Tensor) -> None:
        """Remove outputs; operators that no other output needs are not dumped.

        Args:
            vars: outputs; a warning lists variables that are not outputs.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> net.add_output(x + 1, x * 2)
            >>> net.remove_output(net.dest_vars[0])
            >>> len(net.dest_vars)
            1
        """
        outputs = self.graph.outputs
        for var in map(as_varnode, vars):
            number = self.graph.number_here(var)
            if number not in outputs:
                get_logger(__name__).warning("%s is not an output of the network", var.name)
            outputs = [output for output in outputs if output != number]
        self.graph.set_outputs(outputs)

    def add_dep_oprs(self, *vars: Tensor) -> list[VarNode]:
        """Copy variables of other graphs, with their dependencies, into this one.

        Args:
            vars: variables of any graph.
        Returns:
            The copies in this graph.
        Example:
            >>> net, other = Network(), Network()
            >>> (c,) = net.add_dep_oprs(other.make_const([1.0], name="c"))
            >>> c.graph is net.graph
            True
        """
        return [self.graph.variable(self.graph.number_of(as_varnode(var))) for var in vars]

    def modify_opr_names(self, modifier: str | Callable[[str], str]) -> None:
        """Rename all operators, including inputs and constants.

        Args:
            modifier: a prefix, separated from the name by a dot, or a function.
        Raises:
            AssertionError: it has another type.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> net.add_output(x * 2)
            >>> net.modify_opr_names("part")
            >>> [opr.name for opr in net.data_providers_filter]
            ['part.x']
        """
        if isinstance(modifier, str):
            prefix, modifier = modifier, lambda name: f"{prefix}.{name}"
        if not callable(modifier):
            raise AssertionError(
                f"[modify_opr_names] the modifier is a prefix or a function, got {modifier!r}"
            )
        names = [(opr, modifier(opr.name)) for opr in self.all_oprs]
        for opr, name in names:
            opr.name = name

    def reset_batch_size(self, batchsize: int, *, blacklist=()) -> None:
        """Set the size of the first axis of the inputs.

        Args:
            batchsize: the size.
            blacklist: names of inputs to keep unchanged.
        Raises:
            AssertionError: there is no input, the inputs differ in their first axes, or the
                blacklist contains a name that is not an input.
            RuntimeError: an operator does not support the size.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((1, 3), "float32", name="x")
            >>> net.add_output(x * 2)
            >>> net.reset_batch_size(8)
            >>> net.dest_vars[0].shape
            (8, 3)
        """
        kept = set(blacklist)
        providers = self.data_providers_filter.as_dict()
        if kept - set(providers):
            raise AssertionError(f"[reset_batch_size] no inputs: {sorted(kept - set(providers))}")
        inputs = [opr for name, opr in providers.items() if name not in kept]
        sizes = {opr.name: opr.shape[0] for opr in inputs}
        if len(set(sizes.values())) != 1:
            raise AssertionError(f"[reset_batch_size] the inputs have no one batch size: {sizes}")
        self.graph.change_shapes({opr._number: [batchsize, *opr.shape[1:]] for opr in inputs})

    def replace_vars(self, repl_dict: dict[Tensor, Tensor]) -> None:
        """Replace variables for all their readers, including outputs of the network.

        The inputs of the new variable still read the old one, so that an operator can be inserted
        after a variable. A variable of another dtype is converted, unless fractions would be lost.
        A new output without a name gets the name of the old one.

        Args:
            repl_dict: the replacement of each variable, which may be of another graph.
        Raises:
            ValueError: a variable is not one of this network, would depend on itself, or fractions
                would replace integers.
            RuntimeError: an operator does not support its new input.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> y = x + 1
            >>> net.add_output(y * 2)
            >>> net.replace_vars({y: F.exp(y)})
            >>> [type(opr).__name__ for opr in net.all_oprs][-3:]
            ['Elemwise', 'ImmutableTensor', 'Elemwise']
        """
        by = {}
        for old, new in repl_dict.items():
            old, new = as_varnode(old), as_varnode(new)
            number = self.graph.number_here(old)
            if number is None:
                raise ValueError(f"[replace_vars] {old.name} is a variable of another network")
            by[number] = self.graph.number_of(converted(new, old))
        replaced = [old for old in self.graph.outputs if old in by]
        self.graph.replace(by)
        for old in replaced:
            self.graph.take_name(old, by[old])
        self.graph.refresh()

    def replace_oprs(self, repl_dict: dict[OpNode, OpNode]) -> None:
        """Replace the outputs of operators by those of others, in order.

        The outputs of a replaced operator are those of the other one from then on.

        Args:
            repl_dict: the replacement of each operator.
        Raises:
            ValueError: two operators differ in their number of outputs; see also ``replace_vars``.
        Example:
            >>> net = Network()
            >>> x = net.make_input_node((2,), "float32", name="x")
            >>> y = F.relu(x)
            >>> net.add_output(y)
            >>> net.replace_oprs({y.owner: F.exp(x).owner})
            >>> net.dest_vars[0].owner.params["mode"]
            'EXP'
        """
        by = {}
        for old, new in repl_dict.items():
            pairs = zip(as_oprnode(old).outputs, as_oprnode(new).outputs, strict=True)
            by.update(pairs)
        self.replace_vars(by)
        for old, new in repl_dict.items():
            places = [self.graph.number_of(var) for var in new.outputs]
            for var, place in zip(old.outputs, places, strict=True):
                self.graph.rebind(var, place)
            old._replaced_by = self.graph.operator(self.graph.owner(places[0]))

    def get_opr_by_type(self, oprcls: type, unique: bool = True):
        """The operators of a class.

        Args:
            oprcls: class in ``network_node``.
            unique: expect exactly one and return it.
        Returns:
            OpNode, or a list of them.
        Raises:
            AssertionError: there is not exactly one although one is expected.
        """
        return _found(self.opr_filter.type(oprcls), unique, f"operators of type {oprcls.__name__}")

    def get_opr_by_name(self, name: str, unique: bool = True):
        """The operators with matching names.

        Args:
            name: a pattern as in ``NodeFilter.name``.
            unique: expect exactly one and return it.
        Returns:
            OpNode, or a list of them.
        Raises:
            AssertionError: there is not exactly one although one is expected.
        """
        return _found(self.opr_filter.name(name), unique, f"operators named {name!r}")

    def get_var_by_name(self, name: str, unique: bool = True):
        """The variables with matching names.

        Args:
            name: a pattern as in ``NodeFilter.name``.
            unique: expect exactly one and return it.
        Returns:
            VarNode, or a list of them.
        Raises:
            AssertionError: there is not exactly one although one is expected.
        """
        return _found(self.var_filter.name(name), unique, f"variables named {name!r}")

    def get_var_receive_oprs(self, var: Tensor) -> list[OpNode]:
        """The operators that read a variable and that outputs depend on."""
        return self.opr_filter.has_input(var).as_list()

    def get_dep_oprs(self, var: Tensor) -> list[OpNode]:
        """The operators that a variable depends on, including inputs and constants, in order."""
        return get_oprs_seq([as_varnode(var)], prune_immtensor=False)

    @property
    def opr_filter(self) -> "NodeFilter":
        """All operators that the outputs depend on."""
        return NodeFilter(self.all_oprs)

    @property
    def var_filter(self) -> "NodeFilter":
        """All variables that the outputs depend on."""
        return NodeFilter(self.all_vars)

    @property
    def params_filter(self) -> "NodeFilter":
        """The constants that the outputs depend on."""
        return self.opr_filter.param_provider()

    @property
    def data_providers_filter(self) -> "NodeFilter":
        """The inputs that the outputs depend on."""
        return self.opr_filter.data_provider()

    @property
    def dest_vars(self) -> list[VarNode]:
        """The outputs."""
        return self.output_vars

    @property
    def output_vars(self) -> list[VarNode]:
        """The outputs; assigning them, or changing the list, changes the network."""
        found = [self.graph.variable(number) for number in self.graph.outputs]
        return Assigning(found, self, "output_vars")

    @output_vars.setter
    def output_vars(self, vars: Iterable[Tensor]) -> None:
        numbers = [self.graph.number_of(as_varnode(var)) for var in vars]
        self.graph.set_outputs(list(OrderedDict.fromkeys(numbers)))

    @property
    def input_vars(self) -> list[VarNode]:
        """The inputs that the outputs need, the nearest to them first."""
        return get_dep_vars(self.dest_vars, "Host2DeviceCopy")

    @property
    def all_oprs(self) -> list[OpNode]:
        """The operators that the outputs need, in topological order."""
        return get_oprs_seq(self.dest_vars, prune_immtensor=False)

    @property
    def all_vars(self) -> list[VarNode]:
        """The variables that the outputs need: the inputs of their operators, and the outputs."""
        oprs = self.all_oprs
        read = {number for opr in oprs for number in self.graph.inputs_of(opr._number)}
        read.update(self.graph.outputs)
        made = [number for opr in oprs for number in self.graph.outputs_of(opr._number)]
        return [self.graph.variable(number) for number in made if number in read]

    @property
    def all_vars_dict(self) -> "OrderedDict[str, VarNode]":
        """All variables by name."""
        return self.var_filter.as_dict()

    @property
    def all_vars_map(self) -> dict[int, VarNode]:
        """All variables by ``id``."""
        return {var.id: var for var in self.all_vars}

    @property
    def all_oprs_map(self) -> dict[int, OpNode]:
        """All operators by ``id``."""
        return {opr.id: opr for opr in self.all_oprs}

    @property
    def all_oprs_dict(self) -> "OrderedDict[str, OpNode]":
        """All operators by name."""
        return self.opr_filter.as_dict()


def _found(nodes: "NodeFilter", unique: bool, what: str):
    found = nodes.as_list()
    if not unique:
        return found
    if len(found) != 1:
        raise AssertionError(f"expected one of the {what}, the network has {len(found)}")
    return found[0]
