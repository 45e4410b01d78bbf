# SPDX-License-Identifier: Apache-2.0
"""Functions over the variables of a graph, and ``GraphInference``, which runs a model file."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from ..core.counted import counted
from ..tensor import Tensor
from ..utils.compiled_graph import at_least_vector, model_of
from ..utils.graph_walk import (  # noqa: F401
    find_vars_by_name,
    get_dep_vars,
    get_opr_type,
    get_oprs_seq,
    get_owner_opr_inputs,
    get_owner_opr_type,
    graph_traversal,
    replace_oprs,
    replace_vars,
)
from ..utils.network_node import ImmutableTensor, OpenGraph
from .megbrain_graph import InputNode, OutputNode


def convert_inputs(dst: Sequence[Tensor], inputs: Sequence[Tensor] | None = None):
    """Let inputs get values by hand.

    Args:
        dst: VarNodes of one graph.
        inputs: the inputs to convert; None: all inputs of ``dst``.
    Returns:
        ``dst``, and an OrderedDict from names to InputNodes.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> outputs, inputs = convert_inputs([x * 2])
        >>> list(inputs)
        ['x']
    """
    inputs = get_dep_vars(dst, "Host2DeviceCopy") if inputs is None else list(inputs)
    return list(dst), OrderedDict((var.name, InputNode(var)) for var in inputs)


def convert_outputs(dst: Sequence[Tensor]):
    """Make the values of variables readable.

    Args:
        dst: VarNodes of a graph whose inputs ``convert_inputs`` has converted.
    Returns:
        ``dst``, and an OrderedDict from names to OutputNodes.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> (y,), inputs = convert_inputs([x * 2])
        >>> y.name = "y"
        >>> _, outputs = convert_outputs([y])
        >>> list(outputs)
        ['y']
    """
    return list(dst), OrderedDict((var.name, OutputNode(var)) for var in dst)


def embed_inputs(dst: Sequence[Tensor], data: Sequence, inputs: Sequence[Tensor] | None = None):
    """Write values into a graph in the place of its inputs.

    Args:
        dst: VarNodes of one graph.
        data: a Tensor or an array for each input.
        inputs: the inputs to replace; None: all inputs of ``dst`` in order.
    Returns:
        Copies of the VarNodes ``dst`` with these constants, and an OrderedDict from names of inputs
        to the
        constants.
    Raises:
        AssertionError: there are more or fewer inputs than data.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> (y,), constants = embed_inputs([x * 2], [np.float32([3])])
        >>> y.numpy()
        array([6.], dtype=float32)
    """
    inputs = get_dep_vars(dst, "Host2DeviceCopy") if inputs is None else list(inputs)
    if len(inputs) != len(data):
        raise AssertionError(
            f"[embed_inputs] {counted(len(inputs), 'input')}, but {counted(len(data), 'value')}"
        )
    constants = OrderedDict(
        (var.name, ImmutableTensor(value, graph=var.graph).outputs[0])
        for var, value in zip(inputs, data, strict=True)
    )
    replaced = dict(zip(inputs, constants.values(), strict=True))
    return replace_vars(dst, replaced), constants


class GraphInference:
    """A model file that runs.

    Args:
        file: path of a model file, or a binary file object.
        outputs: names of the variables to compute; None: the file's outputs.
        profiling: as in MegEngine, without effect: ``jit.trace`` and ``load_and_run`` profile.
        optimize_for_inference: as in MegEngine, without effect: the engine optimises each run.
    Raises:
        AssertionError: no variable has such a name.
    Example:
        >>> import io
        >>> from megengine.utils.network import Network
        >>> net, file = Network(), io.BytesIO()
        >>> y = net.make_input_node((2,), "float32", name="x") * 3
        >>> y.name = "y"
        >>> net.add_output(y)
        >>> size = file.write(b"") if net.dump(file).nr_opr == 1 else None
        >>> dict(GraphInference(io.BytesIO(file.getvalue())).run([1.0, 2.0]))
        {'y': array([3., 6.], dtype=float32)}
        >>> GraphInference(io.BytesIO(file.getvalue())).input_shapes
        {'x': (2,)}
    """

    def __init__(
        self,
        file,
        outputs: Sequence[str] | None = None,
        profiling: bool = False,
        optimize_for_inference: bool = False,
        **kwargs,
    ) -> None:
        graph = OpenGraph.load(file)
        found = [graph.variable(number) for number in graph.outputs]
        if outputs is not None:
            found = find_vars_by_name(found, outputs)
        self._names = [var.name for var in found]
        self._model = model_of(found)
        inputs = {var.name: var for var in get_dep_vars(found, "Host2DeviceCopy")}
        self._dtypes = {name: var.dtype for name, var in inputs.items()}
        self._unused = {graph.variable(number).name for number in graph.inputs} - set(inputs)

    @property
    def input_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """The shapes of the inputs by name; an open dimension is its name, or None without one."""
        return self._model.input_shapes

    def run(self, *inp_args, inp_dict: dict | None = None) -> "OrderedDict[str, np.ndarray]":
        """Compute the outputs.

        Args:
            inp_args: an array or a Tensor for each input, in the order of ``get_dep_vars``: by
                distance to the outputs, which may differ from the order of the traced function's
                arguments.
            inp_dict: further inputs by name; recommended for several inputs. Those of the file
                that no output depends on may be missing.
        Returns:
            Arrays by the names of the outputs.
        Raises:
            AssertionError: an input is missing, or no input has that name.
        """
        names = list(self._dtypes)
        given = dict(zip(names, inp_args, strict=False)) | (inp_dict or {})
        if set(given) - self._unused != set(names) or len(inp_args) > len(names):
            raise AssertionError(
                f"the model expects inputs {names}, got {len(inp_args)} values and {sorted(given)}"
            )
        values = [self._value_of(name, given[name]) for name in self._model.input_names]
        results = self._model.run(values)
        return OrderedDict(
            (name, at_least_vector(value).numpy())
            for name, value in zip(self._names, results, strict=True)
        )

    def _value_of(self, name: str, value) -> Tensor:
        """An input's value; a single number has the input's rank, which may be 0."""
        tensor = at_least_vector(value, self._dtypes[name])
        is_scalar = self.input_shapes[name] == () and tensor._tuple_shape == (1,)
        return tensor.reshape(()) if is_scalar else tensor


def set_priority_to_id(dest_vars: Sequence[Tensor]) -> None:
    """Run operators in the order of their creation. No effect: there are no other priorities.

    Args:
        dest_vars: VarNodes of one graph.
    """
