# SPDX-License-Identifier: Apache-2.0
"""Devices, dtypes, and what is known of a Tensor without its values."""

import dataclasses
from typing import Any

from ..._mge import Device as CompNode  # noqa: F401
from ...device import what_is_xpu  # noqa: F401
from ..tensor.dtype import (  # noqa: F401
    bfloat16,
    get_scale,
    get_zero_point,
    intb1,
    intb2,
    intb4,
    is_dtype_equal,
    is_quantize,
)

pyintb1, pyintb2, pyintb4 = intb1.type, intb2.type, intb4.type


@dataclasses.dataclass
class TensorAttr:
    """What is known of a Tensor without its values."""

    shape: tuple[int, ...] = ()
    dtype: Any = None
    comp_node: Any = None

    @property
    def device(self) -> Any:
        """The same as ``comp_node``."""
        return self.comp_node
