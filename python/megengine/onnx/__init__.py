# SPDX-License-Identifier: Apache-2.0
"""Models of other programs, and models for them: ONNX files, read and written.

Example:
    >>> import megengine.functional as F
    >>> from megengine import Tensor, onnx
    >>> info = onnx.export(F.relu, "relu.onnx", Tensor([[-1.0, 2.0]]), input_names=["x"])
    >>> info.inputs
    ['x']
"""

from ..core.lazy_import import lazy_getattr

_LATER = {"export": "writing:export", "load": "reading:load"}
__getattr__ = lazy_getattr(__name__, _LATER)

__all__ = ["export", "load"]
