# SPDX-License-Identifier: Apache-2.0
"""Models of other programs, and models for them: ONNX files, read and written.

Example:
    >>> import megengine.functional as F
    >>> from megengine import Tensor, onnx
    >>> info = onnx.export(F.relu, "relu.onnx", Tensor([[-1.0, 2.0]]), input_names=["x"])
    >>> info.inputs
    ['x']
"""

import importlib

# Each is imported when it is used.
_HOMES = {"export": ".writing", "load": ".reading"}

__all__ = ["export", "load"]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__():
    return sorted(set(globals()) | set(__all__))
