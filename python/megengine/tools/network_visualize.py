# SPDX-License-Identifier: Apache-2.0
"""Tables of what is in a model: ``mge-dump info``.

python -m megengine.tools.network_visualize MODEL --all
"""

import argparse
import warnings

from .native import door


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="show what is in a model and what it costs")
    parser.add_argument("model_path", help="model file, of any kind that can be read")
    parser.add_argument("--log_path", default="", help="without effect")
    parser.add_argument("--load_input_data", default=None, help="without effect")
    parser.add_argument("--bar_length_max", type=int, default=20, help="of the longest bar")
    parser.add_argument("--cal_params", action="store_true", help="a table of weights")
    parser.add_argument("--cal_flops", action="store_true", help="a table of operators")
    parser.add_argument("--cal_activations", action="store_true", help="a table of results")
    parser.add_argument("--logging_to_stdout", action="store_true", help="always")
    parser.add_argument("--all", action="store_true", help="all tables")
    return parser


def main() -> None:
    """Run the tool with this program's command line, for a batch of one.

    Raises:
        SystemExit: always, with its exit code.
    """
    args = _parser().parse_args()
    for name in ("log_path", "load_input_data"):
        if getattr(args, name):
            warnings.warn(f"[network_visualize] {name} has no effect", UserWarning, stacklevel=2)
    tables = {"--params": args.cal_params, "--flops": args.cal_flops}
    tables |= {"--activations": args.cal_activations, "--all": args.all}
    wanted = [name for name, is_wanted in tables.items() if is_wanted]
    bar = ["--bar-length-max", str(args.bar_length_max)]
    door("mge-dump", ["info", args.model_path, "--batch-size", "1", *bar, *wanted])


if __name__ == "__main__":
    main()
