# SPDX-License-Identifier: Apache-2.0
"""Parameters, operations and activations of a Network, from its shapes alone."""

from . import network_node as nodes
from .network import Network
from .stat_rules import (
    elements_of,
    field_of,
    field_shown,
    get_activation_stats,
    get_op_stats,
    get_param_stats,
    register_flops,
    register_receptive_field,
    shape_of,
    stats_details,
    total_stats,
)
from .stat_tables import (
    print_activations_stats,
    print_op_stats,
    print_param_stats,
    print_summary,
    sizeof_fmt,
    sum_activations_stats,
    sum_op_stats,
    sum_param_stats,
)

_CONVOLUTIONS = (nodes.ConvolutionForward, nodes.ConvBiasForward)


# The last three sizes of a weight are those of the window and the number of channels in the sum.
@register_flops(*_CONVOLUTIONS)
def _convolution_flops(node, inputs, outputs):
    outputs_and_bias = elements_of(shape_of(outputs[0]))
    window = elements_of(shape_of(inputs[1])[-3:])
    return outputs_and_bias * (window + (len(inputs) > 2))


@register_flops(nodes.ConvolutionBackwardData)
def _transposed_convolution_flops(node, inputs, outputs):
    return elements_of(shape_of(inputs[0])) * elements_of(shape_of(inputs[1])[-3:])


@register_flops(nodes.MatrixMul, nodes.BatchedMatrixMul)
def _product_flops(node, inputs, outputs):
    shape = shape_of(inputs[0])
    is_transposed = node.params.get("transpose_a", False) and len(shape) > 1
    depth = shape[-2 if is_transposed else -1]
    return elements_of(shape_of(outputs[0])) * (depth + (len(inputs) > 2))


@register_flops(nodes.Elemwise, nodes.ElemwiseMultiType)
def _elementwise_flops(node, inputs, outputs):
    return elements_of(shape_of(outputs[0]))


def _field_before(inputs, outputs, window, step) -> tuple:
    """Receptive field of the outputs of a sliding window."""
    field, stride = field_of(inputs[0])
    field = tuple(f + (w - 1) * s for f, w, s in zip(field, window, stride, strict=True))
    stride = tuple(a * b for a, b in zip(stride, step, strict=True))
    for value in outputs:
        value.owner._rf, value.owner._stride = field, stride
    return field, stride


@register_receptive_field(*_CONVOLUTIONS)
def _convolution_field(node, inputs, outputs):
    sizes = zip(shape_of(inputs[1])[-2:], node.params["dilation"], strict=True)
    window = [(size - 1) * dilation + 1 for size, dilation in sizes]
    return _field_before(inputs, outputs, window, node.params["stride"])


@register_receptive_field(nodes.PoolingForward)
def _pooling_field(node, inputs, outputs):
    return _field_before(inputs, outputs, node.params["kernel"], node.params["stride"])


def _rows(operators: list) -> tuple[list[dict], list[dict], list[dict]]:
    params, flops, activations = [], [], []
    with field_shown():
        for node in operators:
            outputs = [value for value in node.outputs if value.partial_shape is not None]
            name = {"name": node.name, "class_name": node.type}
            if isinstance(node, nodes.ConstOpBase):
                params.append({**get_param_stats(node.outputs[0]), "name": node.name})
            elif all(value.partial_shape is not None for value in node.inputs) and outputs:
                stats = get_op_stats(node, node.inputs, outputs)
                flops += [{**stats, **name}] if stats else []
            activations += [{**get_activation_stats(value), **name} for value in outputs]
    return params, flops, activations


def network_stats(
    network: Network,
    cal_params: bool = True,
    cal_flops: bool = True,
    cal_activations: bool = True,
    logging_to_stdout: bool = True,
    bar_length_max: int = 20,
) -> tuple:
    """Count the sizes and operations of a Network. Values whose shapes are known only at run time
    are omitted.

    Args:
        network: the Network, which is not changed and does not run.
        cal_params: count constants.
        cal_flops: count operations, with receptive fields.
        cal_activations: count results, including inputs and constants.
        logging_to_stdout: log the tables in addition to the summary.
        bar_length_max: length of the longest bar.
    Returns:
        The same as ``module_stats``.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> net.add_output(net.make_input_node((1, 4), "float32", name="x") * 2)
        >>> network_stats(net)[0].flops
        4
    """
    operators = list(network.all_oprs)
    params, flops, activations = _rows(operators)
    summary = {"#ops": len(operators), "#params": len(params)}
    param_dims = param_size = operations = act_dims = act_size = 0
    if cal_params:
        param_dims, param_size, _ = sum_param_stats(params, bar_length_max)
        summary["total_param_dims"] = sizeof_fmt(param_dims, "").strip()
        summary["total_param_size"] = sizeof_fmt(param_size)
        if logging_to_stdout:
            print_param_stats(params)
    if cal_flops:
        operations, _ = sum_op_stats(flops, bar_length_max)
        summary["total_flops"] = sizeof_fmt(operations, "OPs")
        if logging_to_stdout:
            print_op_stats(flops)
    if cal_activations:
        act_dims, act_size, _ = sum_activations_stats(activations, bar_length_max)
        summary["total_act_dims"] = sizeof_fmt(act_dims, "").strip()
        summary["total_act_size"] = sizeof_fmt(act_size)
        if logging_to_stdout:
            print_activations_stats(activations)
    if cal_params and cal_flops and param_size:
        summary["flops/param_size"] = f"{operations / param_size:.3f}"
    print_summary(**summary)
    totals = total_stats(param_size, param_dims, operations, act_size, act_dims)
    return totals, stats_details(params, flops, activations)
