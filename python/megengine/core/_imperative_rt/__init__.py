# SPDX-License-Identifier: Apache-2.0
"""Where MegEngine's extension module has its names: operators, ``apply``, devices.

Code that was written for MegEngine imports them from here; they are defined elsewhere.
"""

from ..input_check import TensorSanityCheckImpl  # noqa: F401
from ..ops.opdef import OpDef  # noqa: F401
from ..room import room
from . import common, core2, ops, utils  # noqa: F401
from .common import (  # noqa: F401
    CompNode,
    DeviceProperties,
    DeviceType,
    OperatorNodeConfig,
    TensorAttr,
    bfloat16,
    get_cuda_driver_version,
    get_cuda_version,
    get_cudnn_version,
    get_device_prop,
    get_scale,
    get_tensorrt_version,
    get_zero_point,
    intb1,
    intb2,
    intb4,
    is_dtype_equal,
    is_quantize,
    set_prealloc_config,
    what_is_xpu,
)
from .utils import AtomicUint64, Logger  # noqa: F401

_OF_GRAPHS = """
    ComputingGraph OperatorNode VarNode dump_graph input_callback invoke_op load_graph make_const
    make_h2d make_shared optimize_for_inference output_callback virtual_dep
""".split()
# Those of graphs are imported when somebody asks for them.
_LATER = {name: f"graph:{name}" for name in _OF_GRAPHS} | {
    "graph": "graph",
    "imperative": "imperative",
    "make_backward_graph": "imperative:make_backward_graph",
}
__getattr__ = room(__name__, _LATER)
