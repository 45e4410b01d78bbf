# SPDX-License-Identifier: Apache-2.0
"""Objects of quantisation in plain pickles: each constructor checks the arguments from the file."""

import functools
import math

import numpy as np

from ..core.tensor.dtype import QuantDtypeMeta, quantised_dtype_of
from ..core.tensor.qparams import LSQParams, QParams, QuantMode
from ..module import Module, qat, quantized
from ..quantization import fake_quant, observer
from ..tensor import Tensor

_HOMES = ("megengine.module.qat", "megengine.module.quantized", "megengine.quantization")


@functools.cache
def _classes() -> dict[tuple[str, str], type]:
    found = {}
    for home in (qat, quantized, fake_quant, observer):
        for value in vars(home).values():
            if isinstance(value, type) and issubclass(value, Module):
                found[value.__module__, value.__name__] = value
    return found


def module_class(module: str, name: str) -> type | None:
    """The class of quantisation's Modules with a name; None if there is no such class."""
    return _classes().get((module, name)) if module.startswith(_HOMES) else None


def dtype_of(steps: np.dtype, metadata) -> np.dtype:
    """The quantised dtype for a dtype with metadata.

    Raises:
        ValueError: they do not.
    """
    about = metadata.get("mgb_dtype") if type(metadata) is dict and len(metadata) == 1 else None
    if type(about) is not dict or type(about.get("name")) is not str:
        raise ValueError("a dtype in it has strange metadata")
    scale, zero_point = about.get("scale"), about.get("zero_point")
    if type(scale) is not float or not math.isfinite(scale):
        raise ValueError("a dtype in it has a scale that is not a number")
    if zero_point is not None and type(zero_point) is not int:
        raise ValueError("a dtype in it has a zero point that is not an integer")
    made = quantised_dtype_of(about["name"], scale, zero_point)
    if made != steps:
        raise ValueError("a dtype in it has the metadata of another one")
    return made


def dtype_meta(_, *fields) -> QuantDtypeMeta:
    """A description of quantised dtypes, one that there is."""
    if not all(type(field) in (str, int, bool, type(None)) for field in fields):
        raise ValueError("the description of a dtype in it is damaged")
    return QuantDtypeMeta(*fields)


def quant_mode(_, value) -> QuantMode:
    """A mode by its number."""
    return QuantMode(value if type(value) is int else None)


def _checked(mode, meta, *values) -> tuple:
    kinds = (float, int, type(None))
    is_fine = mode is None or isinstance(mode, QuantMode)
    is_fine &= meta is None or isinstance(meta, QuantDtypeMeta)
    if not is_fine or not all(type(v) in kinds or isinstance(v, Tensor) for v in values):
        raise ValueError("scale and zero point in it are damaged")
    return mode, meta, *values


def qparams(_, *fields) -> QParams:
    """Scale and zero point."""
    return QParams(*_checked(*fields))


def lsq_params(_, *fields) -> LSQParams:
    """The same with a factor for the gradient."""
    return LSQParams(*_checked(*fields))


def give_state(made: QParams, state) -> None:
    """The fields of an object that MegEngine's files make without them."""
    fields = state[1] if type(state) is tuple and len(state) == 2 and state[0] is None else None
    if type(fields) is not dict or set(fields) != set(made.field_names()):
        raise ValueError("scale and zero point in it are damaged")
    type(made).__init__(made, *_checked(*(fields[name] for name in made.field_names())))


_UTILS = "megengine.quantization.utils"

META = ("megengine.core.tensor.dtype", "QuantDtypeMeta")
# Functions that a file may call, with the number of arguments.
CALLS = {
    META: (dtype_meta, 6),
    ("megengine.core.tensor.dtype", "_meta_of"): (dtype_meta, 6),
}
for _home in (_UTILS, "megengine.core.tensor.qparams"):  # the latter in files of earlier versions
    CALLS[_home, "LSQParams"] = (lsq_params, 5)
    CALLS[_home, "QParams"] = (qparams, 4)
    CALLS[_home, "QuantMode"] = (quant_mode, 1)
# Classes of objects in MegEngine's files: META from arguments, these without and with a state.
WITH_STATE = {(_UTILS, "QParams"): QParams, (_UTILS, "LSQParams"): LSQParams}
