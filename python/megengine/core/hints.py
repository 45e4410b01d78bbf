# SPDX-License-Identifier: Apache-2.0
"""MegEngine's words for arguments and names that people know from PyTorch, for messages."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ARGUMENTS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}
_FUNCTIONS = {
    "bmm": "F.matmul",
    "cat": "F.concat",
    "clamp": "F.clip",
    "cross_entropy": "F.loss.cross_entropy",
    "hardsigmoid": "F.hsigmoid",
    "hardswish": "F.hswish",
    "interpolate": "F.vision.interpolate",
    "l1_loss": "F.loss.l1_loss",
    "log_softmax": "F.logsoftmax",
    "masked_select": "F.cond_take",
    "mm": "F.matmul",
    "mse_loss": "F.loss.square_loss",
    "nms": "F.vision.nms",
    "permute": "F.transpose",
    "rsqrt": "1 / F.sqrt(x)",
    "take_along_dim": "F.gather",
    "unsqueeze": "F.expand_dims",
    "view": "F.reshape",
}
# MegEngine's equivalents of PyTorch's names, by module.
_NAMES = {
    "megengine": {
        **_FUNCTIONS,
        **{name: f"F.{name}" for name in "arange exp eye full matmul ones stack sum zeros".split()},
        "float32": '"float32", as all dtypes by their names',
        "from_numpy": "Tensor(array)",
        "manual_seed": "random.seed",
        "nn": "module, and functional",
        "no_grad": "autodiff.no_grad",
        "optim": "optimizer",
        "rand": "random.uniform",
        "randn": "random.normal",
        "randperm": "random.permutation",
    },
    "megengine.Tensor": {
        **_FUNCTIONS,
        **{
            name: f"F.{name}"
            for name in (
                "abs argmax argmin argsort broadcast_to ceil clip concat copy cumsum exp"
                " expand_dims floor gather log matmul norm relu repeat round scatter sigmoid sign"
                " softmax sort split sqrt squeeze std tanh tile topk var where"
            ).split()
        },
        **{name: f'astype("{name}32")' for name in ("float", "int")},
        "backward": "GradManager.backward",
        "clone": "F.copy",
        "cpu": 'to("cpux")',
        "cuda": 'to("gpux")',
        "data": "detach()",
        "dim": "ndim",
        "expand": "F.broadcast_to",
        "half": 'astype("float16")',
        "long": 'astype("int32")',
        "numel": "size",
        "permute": "transpose",
        "requires_grad": "autodiff.GradManager().attach(x)",
        "view": "reshape",
    },
    "megengine.functional": _FUNCTIONS,
    "megengine.functional.nn": _FUNCTIONS,
    "megengine.module": {
        "BCEWithLogitsLoss": "F.loss.binary_cross_entropy",
        "CrossEntropyLoss": "F.loss.cross_entropy",
        "Flatten": "F.flatten",
        "Hardswish": "F.hswish",
        "L1Loss": "F.loss.l1_loss",
        "MSELoss": "F.loss.square_loss",
        "ModuleDict": "a dict as an attribute",
        "ModuleList": "a list as an attribute",
        "Parameter": "megengine.Parameter",
        "Upsample": "F.vision.interpolate",
        "ZeroPad2d": "M.Pad",
    },
}


def hint_for(module: str, name: str) -> str:
    """A hint for the error message about a name that a module lacks; empty for an unknown name.

    Args:
        module: name of the module, or ``"megengine.Tensor"``.
        name: the missing name.
    """
    way = _NAMES.get(module, {}).get(name)
    return f"; MegEngine's is {way}" if way else ""


def refuse_keywords(who: str, others: dict[str, Any]) -> None:
    """Refuse keyword arguments that a function does not have, with MegEngine's word for them.

    Args:
        who: the function.
        others: its unexpected arguments.
    Raises:
        TypeError: there are unexpected arguments.
    """
    for name in others:
        word = _ARGUMENTS.get(name)
        hint = f"; MegEngine calls it {word!r}" if word else ""
        raise TypeError(f"{who}() got an unexpected keyword argument {name!r}{hint}")


def with_hints(function: _Function) -> _Function:
    """Leave ``**others`` out of a function's signature: they are there for ``refuse_keywords``.

    Args:
        function: it refuses them.
    """
    signature = inspect.signature(function)
    kinds = inspect.Parameter
    kept = [p for p in signature.parameters.values() if p.kind is not kinds.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return function
