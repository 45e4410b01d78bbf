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
from ..files.opening import written_atomically
from ..logger import get_logger
from ..tensor import Tensor
from .names import Constant
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
# Options with a value: a word of the list, or a number of bits.
VALUED = {
    row["keyword"]: row["name"]
    for row in LIST
    if row["keyword"] and (row["words"] or row["keyword"] == "weight_bits")
}

# Python's names of the options in a model's metadata.
KEYWORDS = {name: word for word, name in OPTIMISATIONS.items()} | {
    f"layout={layout.lower()}": word for word, layout in LAYOUTS.items()
}

# MegEngine's names of dtypes that are not the capitalised name.
_DTYPE_NAMES = {"bfloat16": "BFloat16"}

# Arguments without an effect here: the default value, and the reason.
WITHOUT_EFFECT = {
    "arg_names": (None, "rename the variables of the network"),
    "output_names": (None, "rename the variables of the network"),
    "keep_opr_priority": (False, "operators have no priorities"),
    "dump_format": (None, "the format is .mge"),
    "model_version": (2, "the format is .mge"),
    "compat_older_version": (None, "the format is .mge, which no MegEngine reads"),
}


# Metadata with which an ONNX model, which has no checks, gets the shapes it was dumped with.
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
    """Write a trace as a .mge file, for ``load_and_run`` and ``_mge.load``, or as ONNX.

    Args:
        traced: the ``trace`` object, made with ``capture_as_const``.
        file: path, or a binary file object.
        arg_names: names of the inputs, a string or a list; None: ``arg_0``, …. Tensors passed by
            keyword have that name, and need no name here.
        output_names: names of the outputs; default: ``y.name`` as set by the function, else the
            operator's name (``net.ADD``, see ``keep_var_name``), or the keys of the returned dict.
        append: append to the file.
        keep_var_name: which values besides the inputs are named after the modules and operators
            that compute them (``net.conv.Convolution``): 0: no values, and outputs are named after
            their operators; 1, 2 or True: all, including parameters. Those with the name of an
            input, an output or each other get numbers: ``ADD[0]``.
        keep_opr_name: operators have these names.
        keep_param_name: parameters keep their names in modules: ``net.conv.weight``.
        keep_opr_priority, dump_format, model_version, compat_older_version: no effect.
        no_change_graph: write the graph as it was traced, including batch norms.
        strip_info_file: path of a JSON file (or one that is open for reading and writing) that
            lists the operators and dtypes used, by MegEngine's names.
        append_json: merge with the contents of this file.
        optimize_for_inference: fold batch norms of evaluation mode into the weights of the layers
            before them, except for ONNX, and apply ``kwargs``. These take effect when the model is
            compiled, except for the two that store float16. False also writes a convolution or
            product with a bias as two operators, as MegEngine has them; they run as one.
        user_info: any picklable object to store in the file.
        enable_metadata: store metadata.
        input_data: test cases: ``"#rand(min,max)"`` with the inputs' shapes,
            ``"#rand(min,max,shape…)"``, where ``...`` means the rest of the input's shape,
            ``"x.npy"``, ``"image.png"``, ``"name:…;name2:…"``, ``"@list.txt"``.
        repeat: number of repetitions of a file's batch.
        silent: do not log.
        no_assert: write the test cases without expected outputs.
        maxerr: largest accepted error of an output in a test case, as |got − expected| /
            max(min(|got|, |expected|), 1); by default the reader chooses the tolerance.
        resize_input: resize images to the size of the input.
        input_transform: expression over ``data``, applied to every test input.
        training: accept batch norms in training mode, to inspect the graph or compare it with that
            of inference; without it they are refused.
        kwargs: ``enable_io16xc32`` or ``enable_ioc16`` stores weights and values between operators
            as float16; inputs and outputs keep their dtypes. The operators compute in float32 (with
            ``enable_ioc16`` in float16 if the device supports it). ``precision="relaxed"`` lets
            products round their factors to bfloat16, ``"fast"`` also values between operators, if
            that is faster on the processor that runs the model. ``weight_bits=8`` or ``4`` stores
            each weight of large linear layers in so many bits at run time. ``enable_fuse_…`` (done
            wherever it is legal, at every level of optimisation) and a layout such as
            ``enable_nchw88`` are written into the model: ``load_and_run`` without explicit options,
            and ``_mge.load``, apply them.
    Returns:
        Number of operators, inputs and constants among them, bytes, bytes of weights, content hash,
        names of inputs, outputs and parameters.
    Raises:
        ValueError: there is nothing to dump, or names or options are wrong.
        RuntimeError: a batch norm is in training mode, and ``training`` is False; or ONNX has no
            counterpart of some operators, each of which the message names.
    Example:
        >>> from megengine.jit import trace
        >>> @trace(capture_as_const=True)
        ... def double(x):
        ...     return x * 2
        >>> _ = double(Tensor([1.0]))
        >>> double.dump("double.mge", arg_names=["x"], output_names=["y"]).outputs
        ['y']
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
    results = _output_names(traced, output_names, input_names)
    names = kept_names(keep_var_name, is_onnx or keep_opr_name, is_onnx or keep_param_name)
    options = optimisations(kwargs, optimize_for_inference)
    stored = metadata(user_info, False, optimize_for_inference, kwargs) if enable_metadata else {}
    if traced._names.values:
        _warn_of_values(traced._names.values, input_names)
    if shape_constants := _shape_constants(traced):
        _warn_of_numbers(shape_constants, input_names)
        stored |= FIXED_SHAPES if is_onnx else {}
    separates = not (optimize_for_inference or is_onnx)
    model = traced.to_model(
        input_names, results, stored, options, training, names, separates, not is_onnx
    )
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
        _log(info)
    return info


def _log(info: DumpInfo) -> None:
    text = "dumped %d operators, %d bytes (weights %d)"
    get_logger(__name__).info(text, info.nr_opr, info.tot_bytes, info.tensor_value_bytes)


def _add_test_cases(
    model, input_names: list[str], input_data, reading: Reading, has_outputs: bool, maxerr: float
) -> None:
    """Reads the test cases that ``dump`` is given, and adds them to the model."""
    specs = zip(input_names, model.input_specs, strict=True)
    inputs = [ModelInput(name, *spec) for name, spec in specs]
    error = None if maxerr == DEFAULT_MAXERR else float(maxerr)
    for name, arrays in read_test_cases(input_data, inputs, reading):
        model.add_test_case(name, [Tensor(array) for array in arrays], has_outputs, error)


def _shape_constants(traced) -> list[Constant]:
    values, lengths = traced._names.shape_constants, traced._names.lengths
    claims = traced._trace.open_lengths() if lengths else []
    return values + [each for each in lengths if each.claim in claims and each not in values]


def _warn_of_numbers(constants: list[Constant], input_names: list[str]) -> None:
    has_lists = any(isinstance(constant.value, list) for constant in constants)
    unchecked = "; lists of numbers are not checked" if has_lists else ""
    names, numbers = _listed(constants, input_names)
    warnings.warn(
        f"[dump] the function turned shapes of {names} into numbers, which are"
        f" constants of the model: {numbers}."
        f" The model refuses shapes that give others{unchecked}",
        stacklevel=3,
    )


def _warn_of_values(constants: list[Constant], input_names: list[str]) -> None:
    names, values = _listed(constants, input_names)
    warnings.warn(
        f"[dump] the function read values computed from {names}, which are constants of the model:"
        f" {values}. The model uses them for all inputs",
        stacklevel=3,
    )


def _listed(constants: list[Constant], input_names: list[str]) -> tuple[str, str]:
    """The inputs that the constants depend on, and the first constants with their places."""
    names = sorted({input_names[at] for constant in constants for at in constant.arguments})
    first = ", ".join(f"{constant.value} at {constant.place}" for constant in constants[:5])
    more = f" and {len(constants) - 5} more" if len(constants) > 5 else ""
    return ", ".join(names), first + more


def write_model(
    model,
    file,
    *,
    append: bool = False,
    strip_info_file=None,
    append_json: bool = False,
    opset: int | None = None,
) -> DumpInfo:
    """Write a ``_mge.Model`` and return a summary of it.

    Args:
        model: the model.
        file: path, or a binary file object.
        append: append to the file.
        strip_info_file: path of a JSON file (or one that is open for reading and writing) that
            lists the operators and dtypes used.
        append_json: merge with the contents of this file.
        opset: write ONNX with this operator set.
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
    """Converts these arguments for ``_mge``.

    MegEngine describes 1 as the names of the outputs, but its files have those of all values.
    """
    values = 2 if int(keep_var_name) == 1 else int(keep_var_name)
    return values, bool(keep_opr_name), bool(keep_param_name)


def _check_file_format(format: str, input_data, append: bool) -> bool:
    """Whether the format is ONNX; a ValueError for an unknown name."""
    if format not in ("mge", "onnx"):
        raise ValueError(f"[dump] format is 'mge' or 'onnx', got {format!r}")
    if format == "onnx" and input_data is not None:
        raise ValueError("[dump] ONNX files have no test cases: input_data must be None")
    if format == "onnx" and append:
        raise ValueError("[dump] nothing can be appended to an ONNX file: append must be False")
    return format == "onnx"


def check_format(dump_format: str | None) -> None:
    """A ValueError for a format that MegEngine does not have."""
    if dump_format not in (None, "FBS", "FBS_V2"):
        raise ValueError(f"[dump] dump_format is None, 'FBS' or 'FBS_V2', got {dump_format!r}")


def _check_known(kwargs) -> None:
    unknown = set(kwargs) - set(OPTIMISATIONS) - set(VALUED) - set(LAYOUTS)
    if unknown:
        raise ValueError(f"unknown options: {sorted(unknown)}")


def warn_of(**arguments) -> None:
    """Warn about arguments without an effect, with the reason."""
    for name, value in arguments.items():
        nothing, reason = WITHOUT_EFFECT[name]
        if value != nothing:
            warnings.warn(f"[dump] {name}={value!r} has no effect: {reason}", stacklevel=3)


def optimisations(kwargs: dict, is_wanted: bool) -> dict:
    """The optimisations that the model requests, by the names of the options."""
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
    """The metadata of a model that is dumped with these optimisations."""
    # The fusion that is on by default counts as requested unless it is False.
    requested = [
        option
        for option, word in KEYWORDS.items()
        if is_optimised and kwargs.get(word, word == "enable_fuse_grain")
    ]
    return stored_metadata(
        user_info, is_modified=is_modified, is_optimised=bool(requested), options=requested
    )


def _input_names(traced, given) -> list[str]:
    """The names of the inputs; inputs by keyword keep theirs if only the others get new names."""
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
    return [own if name is None else name for name, own in zip(names, default, strict=True)]


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
    """Write to a file object, or to a path: completely or not at all."""
    if hasattr(file, "write"):
        file.write(data)
        return
    if append and Path(file).exists():
        data = Path(file).read_bytes() + data
    with written_atomically(file) as out:
        out.write(data)


def _write_onnx(file, model, opset: int) -> bytes:
    """Write to a file object, or to a path, with large weights in a second file."""
    if hasattr(file, "write"):
        data = model.to_onnx_bytes(opset)
        file.write(data)
        return data
    model.write_onnx(file, opset)
    return Path(file).read_bytes()


def _write_strip_info(path, model, append: bool, data: bytes) -> None:
    """Write to a path, or a text file that is open for reading and writing."""
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
    with written_atomically(path) as out:
        out.write(json.dumps(info).encode())
