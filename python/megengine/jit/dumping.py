# SPDX-License-Identifier: Apache-2.0
"""``trace.dump``: a recorded function as a model file."""

import hashlib
import json
import warnings
from collections import namedtuple
from pathlib import Path

from ..core.counted import counted
from ..core.operator_classes import operator_class
from ..files.model_metadata import stored_metadata
from ..files.opening import written_whole
from ..logger import get_logger
from ..tensor import Tensor
from .options import LAYOUTS, LIST, NAMES
from .test_cases import ModelInput, Reading, read_test_cases

DumpInfo = namedtuple(
    "DumpInfo",
    [
        "nr_opr",
        "tot_bytes",
        "tensor_value_bytes",
        "content_hash",
        "inputs",
        "outputs",
        "params",
    ],
)

DEFAULT_MAXERR = 1e-4

# Keywords of optimisations, by the names of their options.
OPTIMISATIONS = {word: name for word, name in NAMES.items() if word.startswith("enable_")}
# Those that take a value: a word that stands in the list, or how many bits.
VALUED = {
    row["keyword"]: row["name"]
    for row in LIST
    if row["keyword"] and (row["words"] or row["keyword"] == "weight_bits")
}

# What Python calls the options that a model's metadata names.
KEYWORDS = {name: word for word, name in OPTIMISATIONS.items()} | {
    f"layout={layout.lower()}": word for word, layout in LAYOUTS.items()
}

# What MegEngine calls the dtypes that it does not call by their names with a capital.
_DTYPE_NAMES = {"bfloat16": "BFloat16"}

# Arguments that change nothing here: the value that asks for nothing, and why.
WITHOUT_EFFECT = {
    "arg_names": (None, "rename the variables of the network"),
    "output_names": (None, "rename the variables of the network"),
    "keep_opr_priority": (False, "operators have no priorities"),
    "dump_format": (None, "the format is .mge"),
    "model_version": (2, "the format is .mge"),
    "compat_older_version": (None, "the format is .mge, which no MegEngine reads"),
}


# Metadata with which a model refuses other shapes than it was dumped with.
FIXED_SHAPES = {"load_and_run.const_shape": "true"}


def dump(
    traced,
    file,
    *,
    arg_names=None,
    output_names=None,
    append=False,
    keep_var_name=1,
    keep_opr_name=False,
    keep_param_name=False,
    keep_opr_priority=False,
    no_change_graph=False,
    strip_info_file=None,
    append_json=False,
    optimize_for_inference=True,
    user_info=None,
    enable_metadata=True,
    input_data=None,
    repeat=1,
    silent=False,
    no_assert=False,
    maxerr=DEFAULT_MAXERR,
    resize_input=False,
    input_transform=None,
    dump_format=None,
    model_version=2,
    compat_older_version=None,
    training=False,
    format="mge",
    opset=17,
    **kwargs,
) -> DumpInfo:
    """Write what was traced as a .mge file, for ``load_and_run`` and ``_mge.load``, or as ONNX.

    Args:
        traced: the ``trace`` object; it has to be traced with ``capture_as_const``.
        file: path, or a binary file object.
        arg_names: names of the inputs, a string or a list; default ``arg_0``, …. Tensors that were
            given by keyword are called so, and need none here.
        output_names: names of the outputs; default: what the function called them (``y.name``),
            else their own (``net.ADD``, see ``keep_var_name``), or the keys of the dict that the
            function returned.
        append: write behind what the file has.
        keep_var_name: which values have names after the modules and operators that compute them
            (``net.conv.Convolution``) beside the inputs: 0 none, where outputs are called as their
            operators, 1 the outputs, 2 or True all, parameters too.
        keep_opr_name: operators have these names.
        keep_param_name: parameters have the names that modules have for them: ``net.conv.weight``.
        keep_opr_priority: without effect, which a warning says: there are no priorities.
        no_change_graph: write the graph as it was traced, batch norms too.
        strip_info_file: path of a JSON file (or one that is open for reading and writing) that
            lists the operators and dtypes used, by MegEngine's names.
        append_json: merge with what this file has.
        optimize_for_inference: put batch norms of evaluation mode into the weights of the layers
            before them, but for ONNX, and let ``kwargs`` act. What these ask for happens when the
            model is compiled, but for the two that store float16.
        user_info: any picklable object to keep in the file.
        enable_metadata: keep metadata at all.
        input_data: test cases: ``"#rand(min,max)"`` with the inputs' shapes,
            ``"#rand(min,max,shape…)"``, where ``...`` stands for the rest of the input's,
            ``"x.npy"``, ``"image.png"``, ``"name:…;name2:…"``, ``"@list.txt"``.
        repeat: how often the batch of a file comes, one behind the other.
        silent: do not log.
        no_assert: write the test cases without what the outputs have to be.
        maxerr: largest error of an output in a test case that is none, as |got − expected| /
            max(min(|got|, |expected|), 1); the default leaves the tolerance to the reader.
        resize_input: give images the size that the input has.
        input_transform: expression over ``data``, applied to every test input.
        dump_format: ``"FBS"`` and ``"FBS_V2"`` are without effect: the format is .mge.
        model_version: without effect, for the same reason.
        compat_older_version: without effect, for the same reason.
        training: write a graph whose batch norms take the statistics of each batch, too, to look
            at it or compare it with that of inference; without it they are refused.
        kwargs: ``enable_io16xc32`` or ``enable_ioc16`` stores weights and values between operators
            as float16, inputs and outputs keep their dtype; the operators compute in float32 (with
            ``enable_ioc16`` in float16 where a device can). ``precision="relaxed"`` lets products
            round their factors to bfloat16, ``"fast"`` values between operators too, where the
            processor that runs the model is faster then. ``weight_bits=8`` or ``4`` lets large
            linear layers keep each weight in so many bits while they run. ``enable_fuse_…`` (done
            wherever it is legal, at every level of optimisation) and a layout such as
            ``enable_nchw88`` are written into the model: ``load_and_run`` without options of its
            own, and ``_mge.load``, compile it so.
    Returns:
        Number of operators, inputs and constants among them, bytes, bytes of weights, content hash,
        names of inputs, outputs and parameters.
    Raises:
        ValueError: nothing to dump, or wrong names or options.
        RuntimeError: a batch norm is in training mode, and ``training`` is False; or ONNX has no
            counterpart of some operators, each of which the message names.
    """
    _check_options(traced, dump_format, kwargs)
    is_onnx = _check_file_format(format, input_data, append)
    warn_of(
        keep_opr_priority=keep_opr_priority,
        dump_format=dump_format,
        model_version=model_version,
        compat_older_version=compat_older_version,
    )
    input_names = _input_names(traced, arg_names)
    stored = metadata(user_info, False, optimize_for_inference, kwargs) if enable_metadata else {}
    stored |= _fixed_shapes(traced._names.shape_constants, input_names)
    options = optimisations(kwargs, optimize_for_inference)
    results = _output_names(traced, output_names, input_names)
    names = kept_names(keep_var_name, is_onnx or keep_opr_name, is_onnx or keep_param_name)
    model = traced.to_model(input_names, results, stored, options, training, names)
    if optimize_for_inference and not (no_change_graph or training or is_onnx):
        model.fold_batch_norms()
    reading = Reading(repeat, input_transform, resize_input)
    _add_test_cases(model, input_names, input_data, reading, not no_assert, maxerr)
    info = write_model(
        model,
        file,
        append=append,
        strip_info_file=strip_info_file,
        append_json=append_json,
        opset=opset if is_onnx else None,
    )
    if not silent:
        text = "dumped %d operators, %d bytes (weights %d)"
        get_logger(__name__).info(text, info.nr_opr, info.tot_bytes, info.tensor_value_bytes)
    return info


def _add_test_cases(
    model, input_names: list[str], input_data, reading: Reading, has_outputs: bool, maxerr: float
) -> None:
    """Reads the test cases that ``dump`` is given, and adds them to the model."""
    specs = zip(input_names, model.input_specs, strict=True)
    inputs = [ModelInput(name, *spec) for name, spec in specs]
    error = None if maxerr == DEFAULT_MAXERR else float(maxerr)
    for name, arrays in read_test_cases(input_data, inputs, reading):
        model.add_test_case(name, [Tensor(array) for array in arrays], has_outputs, error)


def _fixed_shapes(constants, input_names: list[str]) -> dict[str, str]:
    """Warns of numbers made of shapes; metadata with which readers refuse other shapes."""
    if not constants:
        return {}
    names = sorted({input_names[at] for constant in constants for at in constant.arguments})
    numbers = ", ".join(f"{constant.value} at {constant.place}" for constant in constants[:5])
    more = f" and {len(constants) - 5} more" if len(constants) > 5 else ""
    warnings.warn(
        f"[dump] the function turned shapes of {', '.join(names)} into numbers, which are"
        f" constants of the model: {numbers}{more}. The model refuses inputs of other shapes",
        stacklevel=3,
    )
    return FIXED_SHAPES


def write_model(
    model,
    file,
    *,
    append: bool = False,
    strip_info_file=None,
    append_json: bool = False,
    opset: int | None = None,
) -> DumpInfo:
    """Write a ``_mge.Model`` and what there is to tell about it.

    Args:
        model: the model.
        file: path, or a binary file object.
        append: behind what the file has.
        strip_info_file: path of a JSON file (or one that is open for reading and writing) that
            lists the operators and dtypes used.
        append_json: merge with what this file has.
        opset: write ONNX of this operator set.
    """
    if opset is None:
        data = model.to_bytes()
        _write(file, data, append)
    else:
        data = _write_onnx(file, model, opset)
    if strip_info_file is not None:
        _write_strip_info(strip_info_file, model, append_json, data)
    return DumpInfo(
        tot_bytes=len(data), content_hash=hashlib.sha256(data).hexdigest(), **model.statistics()
    )


def _check_options(traced, dump_format, kwargs) -> None:
    if not traced._capture_as_const:
        raise ValueError("you must specify capture_as_const=True at __init__ to use dump")
    if not traced._trace.is_recorded:
        raise ValueError("you should do record first before dump: call the traced function")
    if not traced._has_result:
        raise ValueError("the traced function returned nothing to dump")
    check_format(dump_format)
    _check_known(kwargs)


def kept_names(keep_var_name, keep_opr_name, keep_param_name) -> tuple[int, bool, bool]:
    """These arguments for ``_mge``: True is all values."""
    values = 2 if keep_var_name is True else int(keep_var_name)
    return values, bool(keep_opr_name), bool(keep_param_name)


def _check_file_format(format: str, input_data, append: bool) -> bool:
    """Whether it is ONNX; a ValueError when there is none of that name."""
    if format not in ("mge", "onnx"):
        raise ValueError(f"[dump] format is 'mge' or 'onnx', got {format!r}")
    if format == "onnx" and input_data is not None:
        raise ValueError("[dump] ONNX files have no test cases: input_data has to be None")
    if format == "onnx" and append:
        raise ValueError("[dump] nothing can stand behind what an ONNX file has: append is False")
    return format == "onnx"


def check_format(dump_format: str | None) -> None:
    """A ValueError when MegEngine has no such format."""
    if dump_format not in (None, "FBS", "FBS_V2"):
        raise ValueError(f"[dump] dump_format is None, 'FBS' or 'FBS_V2', got {dump_format!r}")


def _check_known(kwargs) -> None:
    unknown = set(kwargs) - set(OPTIMISATIONS) - set(VALUED) - set(LAYOUTS)
    if unknown:
        raise ValueError(f"unknown options: {sorted(unknown)}")


def warn_of(**arguments) -> None:
    """Warn of arguments that change nothing, and say why."""
    for name, value in arguments.items():
        nothing, reason = WITHOUT_EFFECT[name]
        if value != nothing:
            warnings.warn(f"[dump] {name}={value!r} has no effect: {reason}", stacklevel=3)


def optimisations(kwargs: dict, is_wanted: bool) -> dict:
    """What the model shall carry, by the names of the options."""
    _check_known(kwargs)
    given = {word: value if word in VALUED else bool(value) for word, value in kwargs.items()}
    # On unless it is given as False; all others say something only as True.
    given = {word: on for word, on in given.items() if on or word == "enable_fuse_grain"}
    if given and not is_wanted:
        warnings.warn(
            f"[dump] {', '.join(given)} has no effect: optimize_for_inference is False",
            stacklevel=3,
        )
        return {}
    layouts = [word for word in given if word in LAYOUTS]
    if len(layouts) > 1:
        raise ValueError(f"[dump] {layouts[0]} contradicts {layouts[1]}; give one of them")
    names = OPTIMISATIONS | VALUED
    options = {names[word]: value for word, value in given.items() if word in names}
    return options | ({"layout": LAYOUTS[layouts[0]]} if layouts else {})


def metadata(user_info, is_modified: bool, is_optimised: bool, kwargs: dict) -> dict[str, str]:
    """What a model that is dumped with these optimisations says of itself."""
    # The fusion that is on unless it is given as False counts as asked for.
    asked = [
        option
        for option, word in KEYWORDS.items()
        if is_optimised and kwargs.get(word, word == "enable_fuse_grain")
    ]
    return stored_metadata(
        user_info, is_modified=is_modified, is_optimised=bool(asked), options=asked
    )


def _input_names(traced, given) -> list[str]:
    """The names of the inputs; those by keyword keep theirs where only the others get some."""
    default = traced._arguments
    if given is None:
        return default
    names = [given] if isinstance(given, str) else list(given)
    if len(names) == traced._by_position:
        names += default[len(names) :]
    if len(names) != len(default):
        raise ValueError(
            f"[dump] arg_names: the function has {counted(len(default), 'input')},"
            f" {traced._by_position} by position, got {len(names)}"
        )
    return names


def _output_names(traced, given, input_names: list[str]) -> list[str]:
    """The names of the outputs; empty where an output is called as its operator."""
    if traced._result_keys is not None:
        if given is not None:
            raise TypeError("[dump] the function returns a dict: its keys are the output names")
        return traced._result_keys
    if given is None:
        own = [name if name not in input_names else "" for name in traced._result_names]
        return own if any(own) else []
    return [given] if isinstance(given, str) else list(given)


def _write(file, data: bytes, append: bool) -> None:
    """To a file object, or to a path: whole or not at all."""
    if hasattr(file, "write"):
        file.write(data)
        return
    if append and Path(file).exists():
        data = Path(file).read_bytes() + data
    with written_whole(file) as out:
        out.write(data)


def _write_onnx(file, model, opset: int) -> bytes:
    """To a file object, or to a path, where large weights lie in a second file."""
    if hasattr(file, "write"):
        data = model.to_onnx_bytes(opset)
        file.write(data)
        return data
    model.write_onnx(file, opset)
    return Path(file).read_bytes()


def _write_strip_info(path, model, append: bool, data: bytes) -> None:
    """To a path, or a text file that is open for reading and writing."""
    types = {operator_class(kind) for kind, _ in model.counterparts}
    if model.input_names:
        types.add("Host2DeviceCopy")
    if model.statistics()["tensor_value_bytes"]:
        types.add("ImmutableTensor")
    info: dict = {
        "hash": int.from_bytes(hashlib.sha256(data).digest()[:8], "little"),
        "dtypes": sorted(_DTYPE_NAMES.get(name, name.capitalize()) for name in model.dtypes),
        "opr_types": sorted(types),
        "elemwise_modes": sorted(
            {m for kind, m in model.counterparts if kind == "Elemwise"} - {""}
        ),
    }
    is_open = hasattr(path, "write")
    old = path.read() if is_open else Path(path).read_text() if Path(path).exists() else ""
    if append and old:
        for key, values in json.loads(old).items():
            if isinstance(values, list):
                info[key] = sorted({*values, *info.get(key, ())})
    if is_open:
        path.seek(0)
        path.truncate()
        json.dump(info, path)
        return
    with written_whole(path) as out:
        out.write(json.dumps(info).encode())
