# SPDX-License-Identifier: Apache-2.0
"""The recorder of this thread, and the methods of Tensor, under MegEngine's names."""

from .hooks import METHODS, recording
from .recorder import Recorder

# Methods and attributes of Tensor that are not operators.
BUILTIN_TENSOR_WRAP_METHOD = """
    T to size shape detach device dtype grad item ndim numpy qparams set_value reset_zero
    requires_grad _reset _isscalar _tuple_shape
""".split()
# Methods that make Tensors of Tensors, or change one.
BUILTIN_ARRAY_METHOD = [
    *(name for name in METHODS if name not in BUILTIN_TENSOR_WRAP_METHOD),
    "_broadcast",
    "__setitem__",
]


def get_tensor_wrapable_method() -> list[str]:
    """The names in both lists."""
    return BUILTIN_TENSOR_WRAP_METHOD + BUILTIN_ARRAY_METHOD


def active_module_tracer() -> Recorder | None:
    """Return the recorder of this thread, or None."""
    return recording()
