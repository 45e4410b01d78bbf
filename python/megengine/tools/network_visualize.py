# SPDX-License-Identifier: Apache-2.0
"""Tables of a model's contents, and its graph for TensorBoard.

    python -m megengine.tools.network_visualize MODEL --all

``mge-dump info`` prints more details.
"""

import argparse
import sys
import warnings

from ..utils.network import Network
from ..utils.network_stats import network_stats
from ..utils.tensorboard import SummaryWriterExtend


def _write_graph(network: Network, log_path: str) -> None:
    with SummaryWriterExtend(log_path) as writer:
        for node in network.all_oprs:
            shapes = [list(value.partial_shape or ()) for value in node.outputs]
            params = {name: str(value) for name, value in node.params.items()}
            inputs = [value.owner.name for value in node.inputs]
            writer.add_node_raw(node.name, node.type, inputs, shapes, node.outputs[0].dtype, params)
        writer.add_graph_by_node_raw_list()


def visualize(
    model_path: str,
    log_path: str,
    input=None,
    inp_dict: dict | None = None,
    cal_params: bool = True,
    cal_flops: bool = True,
    cal_activations: bool = True,
    logging_to_stdout: bool = True,
    bar_length_max: int = 20,
) -> tuple:
    """Count parameters, operations and activations of a model for a batch of one.

    Args:
        model_path: model file, of any kind that can be read.
        log_path: folder for TensorBoard, which gets the graph; empty: no graph is written.
        input: no effect, with a warning: the model does not run.
        inp_dict: no effect.
        cal_params: count weights.
        cal_flops: count operations.
        cal_activations: count results.
        logging_to_stdout: log the tables in addition to the summary.
        bar_length_max: length of the longest bar.
    Returns:
        As ``utils.module_stats.module_stats``.
    Raises:
        RuntimeError: it is not a model, or is damaged.
        NotAvailableError: TensorBoard is not installed.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> y = F.relu(net.make_input_node((1, 4), "float32", name="x"))
        >>> y.name = "y"
        >>> net.add_output(y)
        >>> _ = net.dump("net.mge")
        >>> total, _ = visualize("net.mge", "", logging_to_stdout=False)
        >>> total.param_dims
        0
    """
    for name, given in (("input", input), ("inp_dict", inp_dict)):
        if given is not None:
            warnings.warn(f"[visualize] {name} has no effect", UserWarning, stacklevel=2)
    network = Network.load(model_path)
    network.reset_batch_size(1)
    if log_path:
        _write_graph(network, log_path)
    return network_stats(
        network, cal_params, cal_flops, cal_activations, logging_to_stdout, bar_length_max
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="show the contents and the cost of a model")
    parser.add_argument("model_path", help="model file of any readable format")
    parser.add_argument("--log_path", default="", help="folder to write for TensorBoard")
    parser.add_argument("--load_input_data", help="ignored: the model does not run")
    parser.add_argument("--bar_length_max", type=int, default=20, help="length of the longest bar")
    parser.add_argument("--cal_params", action="store_true", help="print a table of weights")
    parser.add_argument("--cal_flops", action="store_true", help="print a table of operators")
    parser.add_argument(
        "--cal_activations", action="store_true", help="print a table of activations"
    )
    parser.add_argument("--logging_to_stdout", action="store_true", help="log the tables")
    parser.add_argument(
        "--all", action="store_true", help="print all tables; write the graph to ./log"
    )
    return parser


def main() -> None:
    """Run the program.

    Raises:
        SystemExit: the command line is wrong, or there is no such model.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.network_visualize", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    args = _parser().parse_args()
    try:
        visualize(
            args.model_path,
            args.log_path or ("./log" if args.all else ""),
            args.load_input_data,
            None,
            args.cal_params or args.all,
            args.cal_flops or args.all,
            args.cal_activations or args.all,
            args.logging_to_stdout or args.all,
            args.bar_length_max,
        )
    except (OSError, RuntimeError, ImportError) as e:
        sys.exit(f"network_visualize: {e}")


if __name__ == "__main__":
    main()
