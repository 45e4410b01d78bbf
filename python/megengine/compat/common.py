# SPDX-License-Identifier: Apache-2.0
"""Devices, dtypes, and properties of a Tensor without its values."""

import dataclasses
from typing import Any

from .._mge import Device as CompNode  # noqa: F401
from ..core.tensor.dtype import (  # noqa: F401
    bfloat16,
    get_scale,
    get_zero_point,
    intb1,
    intb2,
    intb4,
    is_dtype_equal,
    is_quantize,
)
from ..device import (  # noqa: F401
    DeviceProperties,
    DeviceType,
    get_cuda_device_property,
    get_cuda_driver_version,
    get_cuda_version,
    get_cudnn_version,
    get_tensorrt_version,
    set_prealloc_config,
    what_is_xpu,
)

get_device_prop = get_cuda_device_property
pybfloat16, pyintb1, pyintb2, pyintb4 = (d.type for d in (bfloat16, intb1, intb2, intb4))


@dataclasses.dataclass
class TensorAttr:
    """The properties of a Tensor without its values."""

    shape: tuple[int, ...] = ()
    dtype: Any = None
    comp_node: Any = None

    @property
    def device(self) -> Any:
        """The same as ``comp_node``."""
        return self.comp_node


@dataclasses.dataclass
class OperatorNodeConfig:
    """Name, dtype and devices of a new operator; None leaves them unset."""

    name: str | None = None
    dtype: Any = None
    comp_node_arr: tuple = ()

    @property
    def comp_node(self) -> Any:
        """The only place.

        Raises:
            ValueError: there is no place, or there are several.
        """
        if len(self.comp_node_arr) != 1:
            places = list(map(str, self.comp_node_arr))
            raise ValueError(f"[OperatorNodeConfig] comp_node is one place, there are {places}")
        return self.comp_node_arr[0]

    @comp_node.setter
    def comp_node(self, place: Any) -> None:
        self.comp_node_arr = () if place is None else (place,)
