# SPDX-License-Identifier: Apache-2.0
"""A model run and timed: ``load_and_run``, with inputs that Python makes.

python -m megengine.tools.load_network_and_run MODEL --input-desc "data:1,3,224,224" --iter 10
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from .. import _mge
from ..files.opening import open_input, rest_of
from ..files.plain_pickle import load_plain
from .native import run_tool

# Flags that the tool has under the same name.
_SAME = ("fast-run", "reproducible", "verbose", "weight-preprocess", "optimize-for-inference")
# MegEngine's names of optimisations in its interface for graphs.
_OPTIMISATIONS = (
    "enable_io16xc32",
    "enable_ioc16",
    "enable_hwcd4",
    "enable_nchw4",
    "enable_nchw88",
    "enable_nchw44",
    "enable_nchw44_dot",
    "enable_nchw32",
    "enable_chwn4",
    "enable_fuse_conv_bias_nonlinearity",
    "enable_fuse_conv_bias_with_z",
)
_SAME_WITH_VALUE = ("device", "profile", "iter", "seed", "get-static-mem-info")
_SHORT = {"device": ["-d"], "verbose": ["-v"]}
_MISSING = ("focused-nvprof", "embed-input")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="load a network and run it")
    parser.add_argument("net", help="model file of any readable format")
    for name in _SAME:
        names = [*_SHORT.get(name, ()), f"--{name}"]
        parser.add_argument(*names, action="store_true", help="same as in load_and_run")
    for name in _OPTIMISATIONS:
        name = name.replace("_", "-")
        parser.add_argument(f"--{name}", action="store_true", help="same as in load_and_run")
    for name in _SAME_WITH_VALUE:
        parser.add_argument(*_SHORT.get(name, ()), f"--{name}", help="same as in load_and_run")
    parser.add_argument("--warm-up", default="0", help="untimed runs before the timed ones")
    parser.add_argument("--custom-op-lib", help="library of additional operators")
    parser.add_argument("--dump-cpp-model", help="write the optimised model to this file")
    parser.add_argument("--load-input-data", help="pickle of an array or of a dict of arrays")
    parser.add_argument("--input-desc", help="shapes of inputs: name:d0,d1;name:d0")
    parser.add_argument("--rng", help="random inputs: name:randint(low=0,high=9,size={});...")
    parser.add_argument("--batchsize", type=int, help="size of the first axis of every input")
    parser.add_argument(
        "--calc-output-rms", action="store_true", help="print the root mean square of each output"
    )
    parser.add_argument(
        "--output-name", nargs="+", help="print the root mean square of these outputs only"
    )
    parser.add_argument("--log", help="write the output to a file")
    for name in _MISSING:
        parser.add_argument(f"--{name}", action="store_true", help="not available in this version")
    return parser


def get_execution_strategy(args) -> str:
    """Return the strategy for choosing algorithms.

    Args:
        args: the command line: ``fast_run`` and ``reproducible``.
    Returns:
        A value for ``functional.debug_param.set_execution_strategy``.
    Example:
        >>> get_execution_strategy(argparse.Namespace(fast_run=True, reproducible=True))
        'PROFILE_REPRODUCIBLE'
    """
    strategy = "PROFILE" if args.fast_run else "HEURISTIC"
    return f"{strategy}_REPRODUCIBLE" if args.reproducible else strategy


def get_opt_kwargs(args) -> dict[str, bool]:
    """The requested optimisations.

    Args:
        args: the command line.
    Returns:
        True by keyword of ``trace.dump``.
    Example:
        >>> get_opt_kwargs(argparse.Namespace(enable_ioc16=True))
        {'enable_ioc16': True}
    """
    return {name: True for name in _OPTIMISATIONS if getattr(args, name, False)}


class _Maker:
    """numpy's generators by name, with numbers and ``{}`` as arguments: no other Python is run."""

    _CALL = re.compile(r"(\w+)\((.*)\)")
    _KEYWORD = re.compile(r"(\w+)=(.+)")

    def __init__(self, seed: int):
        self._state = np.random.RandomState(seed)

    def make(self, shape: tuple, how: str = "uniform(size={})") -> np.ndarray:
        found = self._CALL.fullmatch(how.strip())
        maker = getattr(self._state, found[1], None) if found else None
        if maker is None or found[1].startswith("_"):
            raise ValueError(f"--rng: {how!r} is not a call of a NumPy generator")
        positional, named = [], {}
        for part in filter(None, (part.strip() for part in found[2].split(","))):
            keyword = self._KEYWORD.fullmatch(part)
            value = keyword[2] if keyword else part
            value = shape if value == "{}" else float(value) if "." in value else int(value)
            if keyword:
                named[keyword[1]] = value
            else:
                positional.append(value)
        try:
            return np.asarray(maker(*positional, **named))
        except TypeError as error:
            raise ValueError(
                f"--rng: {how!r} is not a call of a NumPy generator: {error}"
            ) from None


def _pairs(text: str | None) -> dict[str, str]:
    """``name:value;name:value``"""
    parts = (part.partition(":") for part in (text or "").split(";") if part)
    return {name.strip(): value.strip() for name, _, value in parts}


def _repeated(array: np.ndarray, batch: int | None) -> np.ndarray:
    if batch is None or not array.ndim or array.shape[0] == batch:
        return array
    if batch % array.shape[0]:
        raise ValueError(f"--batchsize {batch} is not a multiple of the {array.shape[0]} given")
    return np.concatenate([array] * (batch // array.shape[0]))


def make_data_given_desc(args, inputs: dict, shape0_multiply: int = 1) -> dict[str, np.ndarray]:
    """Random inputs.

    Args:
        args: the command line: ``input_desc``, ``rng``, ``batchsize`` and ``seed``.
        inputs: (shape, dtype) by name, of the inputs that ``input_desc`` does not mention.
        shape0_multiply: factor of the first sizes.
    Returns:
        Arrays by name.
    Raises:
        ValueError: ``rng`` is not a call of a NumPy generator, or an input or shape is unknown.
    Example:
        >>> args = argparse.Namespace(
        ...     input_desc=None, rng="x:normal(size={})", batchsize=None, seed=0
        ... )
        >>> make_data_given_desc(args, {"x": ((2, 3), "float32")})["x"].shape
        (2, 3)
    """
    maker = _Maker(int(args.seed or 0))
    shapes = {
        name: tuple(int(extent) for extent in extents.split(","))
        for name, extents in _pairs(args.input_desc).items()
    }
    rules, made = _pairs(args.rng), {}
    for name in shapes.keys() | rules.keys():
        if name not in inputs:
            raise ValueError(f"the model has no input {name!r}; it has {', '.join(inputs)}")
    for name, (shape, dtype) in inputs.items():
        shape = shapes.get(name, shape)
        if shape is None:
            raise ValueError(f"the model leaves the shape of {name} open: say it by --input-desc")
        if shape:
            batch = shape[0] if args.batchsize is None else args.batchsize
            shape = (batch * shape0_multiply, *shape[1:])
        made[name] = maker.make(shape, rules.get(name, "uniform(size={})")).astype(dtype)
    return made


def _inputs_of(path: str) -> dict[str, tuple]:
    model = _mge.load(path)
    return dict(zip(model.input_names, model.input_specs, strict=True))


def _loaded(path: str, names: list[str]) -> dict[str, np.ndarray]:
    with open_input(path) as file:
        found, _ = load_plain(rest_of(file)[0], f"--load-input-data {path}")
    if not isinstance(found, dict):
        if len(names) != 1:
            raise ValueError(f"--load-input-data: one array for the inputs {', '.join(names)}")
        found = {names[0]: found}
    return {name: np.asarray(value) for name, value in found.items()}


def _data(args) -> dict[str, np.ndarray]:
    """The inputs that Python makes; empty if the tool's own random inputs are sufficient."""
    if args.load_input_data:
        names = list(_inputs_of(args.net))
        data = _loaded(args.load_input_data, names)
        return {name: _repeated(array, args.batchsize) for name, array in data.items()}
    if args.input_desc or args.rng:
        return make_data_given_desc(args, _inputs_of(args.net))
    return {}


def _command(args, data: dict[str, np.ndarray], folder: Path) -> list[str]:
    command = [args.net, "--warmup-iter", args.warm_up]
    command += [f"--{name}" for name in _SAME if getattr(args, name.replace("-", "_"))]
    # The tool has MegEngine's name for the layout itself.
    names = (name.replace("hwcd4", "nhwcd4") for name in get_opt_kwargs(args))
    command += ["--" + name.replace("_", "-") for name in names]
    others = {"custom_op_lib": "c-opr-lib", "dump_cpp_model": "model-dump"}
    named = {name.replace("-", "_"): name for name in _SAME_WITH_VALUE} | others
    for attribute, name in named.items():
        if getattr(args, attribute) is not None:
            command += [f"--{name}", getattr(args, attribute)]
    if args.iter is None:
        command += ["--iter", "1"]
    if data:
        for i, array in enumerate(data.values()):
            np.save(folder / f"{i}.npy", array)
        command += ["--input", ";".join(f"{name}:{folder}/{i}.npy" for i, name in enumerate(data))]
    elif args.batchsize is not None:
        command += ["--batch-size", str(args.batchsize)]
    if _prints_rms(args):
        command += ["--dump-outputs", str(folder / "outputs.npz")]
    return command


def _prints_rms(args) -> bool:
    return bool(args.calc_output_rms or args.output_name)


def _print_output_rms(path: Path, names: list[str] | None) -> None:
    with np.load(path) as outputs:
        for name in names or outputs.files:
            if name not in outputs:
                known = ", ".join(outputs.files)
                sys.exit(f"load_network_and_run: the model has no output {name!r}; it has {known}")
            values = outputs[name].astype(np.float64)
            print(f"output_rms {name}: {np.sqrt(np.square(values).mean()):.6g}")


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: always, with its exit code.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.load_network_and_run", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = _parser()
    args = parser.parse_args()
    for name in _MISSING:
        if getattr(args, name.replace("-", "_")):
            parser.error(f"--{name} is not available in this version of megengine")
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = _command(args, _data(args), Path(folder))
            if args.log:
                with open(args.log, "w", encoding="utf-8") as log:
                    code = run_tool("load_and_run", command, stdout=log)
            else:
                code = run_tool("load_and_run", command)
        except (OSError, ValueError, RuntimeError) as e:
            sys.exit(f"load_network_and_run: {e}")
        if code == 0 and _prints_rms(args):
            _print_output_rms(Path(folder, "outputs.npz"), args.output_name)
    sys.exit(code)


if __name__ == "__main__":
    main()
