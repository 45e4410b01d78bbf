# SPDX-License-Identifier: Apache-2.0
"""The class below ``functional``'s Tensors, the function that applies operators, and process
settings."""

import enum
from weakref import ref as TensorWeakRef  # noqa: F401, N812

from .._mge import TraceError  # noqa: F401
from ..core._trace_option import set_symbolic_shape as set_cpp_use_symbolic_shape  # noqa: F401
from ..core.options import get_option, set_option  # noqa: F401
from ..core.tensor.indexing import getitem as getitem_cpp  # noqa: F401
from ..core.tensor.indexing import setitem as setitem_cpp  # noqa: F401
from ..functional.math import matmul as batched_matmul_cpp  # noqa: F401
from ..functional.math import matmul as matmul_cpp  # noqa: F401
from ..functional.nn import pixel_shuffle as pixel_shuffle_cpp  # noqa: F401
from ..functional.tensor import broadcast_to as broadcast_cpp  # noqa: F401
from ..functional.tensor import complex as create_complex  # noqa: F401
from ..functional.tensor import expand_dims as expand_dims_cpp  # noqa: F401
from ..functional.tensor import imag as get_imag  # noqa: F401
from ..functional.tensor import real as get_real  # noqa: F401
from ..functional.tensor import reshape as reshape_cpp  # noqa: F401
from ..functional.tensor import split as split_cpp  # noqa: F401
from ..functional.tensor import squeeze as squeeze_cpp  # noqa: F401
from ..functional.tensor import transpose as transpose_cpp  # noqa: F401
from ..functional.utils import _sync as sync
from ..operators.opdef import apply  # noqa: F401
from ..tensor import Tensor
from ..utils.naming import AutoNaming
from .amp import (  # noqa: F401
    _get_amp_dtype_autocast,
    _get_amp_high_prec_dtype,
    _get_amp_low_prec_dtype,
    _set_amp_dtype_autocast,
    _set_amp_high_prec_dtype,
    _set_amp_low_prec_dtype,
)
from .config import _clear_algorithm_cache, get_auto_format_convert, set_auto_format_convert  # noqa: F401
from .tensor_utils import Const, convert_single_value, dtype_promotion, get_device, make_shape_tuple  # noqa: F401
from .tensor_utils import astensor1d as astensor1d_cpp  # noqa: F401
from .tensor_utils import convert_inputs as convert_inputs_cpp  # noqa: F401
from .tensor_utils import get_convert_inputs as _get_convert_inputs  # noqa: F401
from .tensor_utils import set_convert_inputs as _set_convert_inputs  # noqa: F401

push_scope = AutoNaming.push_scope


def pop_scope(scope: str | None = None) -> None:
    """Leave the innermost module, which must have the given name."""
    AutoNaming.pop_scope()


full_sync = sync


def close() -> None:
    """Wait for all work. Unlike MegEngine's interpreter, this one can be used afterwards."""
    sync()


class AsyncError(RuntimeError):
    """An error of an earlier operator. MGE raises errors at the operator itself."""


class FormatType(enum.Enum):
    """The layout that a Tensor of images is marked with."""

    DEFAULT = 0
    NCHW = 1
    NHWC = 2


DEFAULT, NCHW, NHWC = FormatType


def convert_single_value_cpp(value, dtype=None, device=None) -> Tensor:
    """A value as a Tensor, which a Tensor is already."""
    return convert_single_value(value, dtype=dtype, device=device)


def astype_cpp(tensor: Tensor, dtype) -> Tensor:
    """A Tensor in another dtype."""
    return tensor.astype(dtype)


def cupti_available() -> bool:
    """Whether profiles use CUPTI: always False."""
    return False
