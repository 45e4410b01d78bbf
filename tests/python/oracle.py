# SPDX-License-Identifier: Apache-2.0
"""Reads tests/data/oracle and compares results with it."""

import importlib
import json
import operator
from pathlib import Path

import numpy as np

import megengine as mge
import megengine.functional as F
from megengine.autodiff import GradManager

ORACLE = Path(__file__).resolve().parents[1] / "data" / "oracle"
# Error over the largest value of an array.
TOLERANCE = {"float16": 1e-3, "float32": 1e-5}


class Reader:
    """The rows of a file and their arrays.

    ``device`` is where Tensors are made of them; None for the default device.
    """

    def __init__(self, name):
        self.device = None
        with np.load(ORACLE / f"{name}.npz") as arrays:
            self.flat = dict(arrays)
        with open(ORACLE / f"{name}.jsonl") as lines:
            self.rows = [json.loads(line) for line in lines]

    def array(self, ref):
        kind, at, shape = ref
        return self.flat[kind][at : at + int(np.prod(shape))].reshape(shape)

    def tensor(self, ref):
        return mge.Tensor(self.array(ref), device=self.device)

    def misplaced(self, tensors):
        """None, or the place of a Tensor that is elsewhere than the Tensors made here."""
        wanted = mge._mge.Device(self.device)
        found = (str(t.device) for t in tensors if t.device != wanted)
        return next((f"is on {place}, not on {wanted}" for place in found), None)


def decode(spec, reader, tensors):
    """The argument that a description stands for; Tensors are also put into the list."""
    if isinstance(spec, list):
        return [decode(v, reader, tensors) for v in spec]
    if not isinstance(spec, dict):
        return spec
    if "t" in spec:
        tensors.append(reader.tensor(spec["t"]))
        return tensors[-1]
    if "n" in spec:
        return reader.array(spec["n"])
    if "scalar" in spec:
        return np.dtype(spec["scalar"][0]).type(spec["scalar"][1])
    if "tuple" in spec:
        return tuple(decode(v, reader, tensors) for v in spec["tuple"])
    if "slice" in spec:
        return slice(*[decode(v, reader, tensors) for v in spec["slice"]])
    if "ellipsis" in spec:
        return Ellipsis
    if "float" in spec:
        return float(spec["float"])
    raise ValueError(spec)


UNARY = {
    "__bool__": bool,
    "__len__": len,
    "__float__": float,
    "__int__": int,
    "__index__": operator.index,
    "__round__": round,
}


def resolve(path):
    """The function that a name stands for."""
    if not path.startswith("T."):
        found = F
        for part in path.split(".")[1:]:
            found = getattr(found, part)
        return found
    name = path[2:]

    def method(x, *args, **kwargs):
        if name in UNARY:
            return UNARY[name](x)
        if name.startswith("__r") and name.endswith("__") and name != "__rshift__":
            return getattr(operator, f"__{name[3:-2]}__")(args[0], x)
        if name.startswith("__"):
            return getattr(operator, name)(x, *args)
        return getattr(x, name)(*args, **kwargs)

    return method


def references(out):
    """References of all Tensors in a recorded result, in order."""
    if "o" in out:
        return [out["o"]]
    return [r for key in ("list", "tuple") for v in out.get(key, []) for r in references(v)]


def tensors_in(value):
    """All Tensors in a result, in order."""
    if isinstance(value, mge.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_in(v)]
    return []


def difference(got, want, absolute=False, factor=1):
    """None, or what differs. The tolerance is multiplied by the factor."""
    got = np.asarray(got)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{got} instead of {want}"
    if absolute:
        got, want = np.abs(got), np.abs(want)
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return "NaNs differ"
    with np.errstate(invalid="ignore", over="ignore"):
        same = (got == want) | np.isnan(want)
        error = np.where(same, 0, np.abs(got.astype(np.float64) - want.astype(np.float64)))
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    limit = factor * TOLERANCE[want.dtype.name] * max(1.0, finite.max() if finite.size else 1.0)
    worst = error.max() if error.size else 0
    return None if worst <= limit else f"error {worst:.3g}, allowed is {limit:.3g}"


def error_difference(error, row):
    """None if an error is of the recorded class, or was to be expected from a crash."""
    if "error" not in row:
        return f"raises {type(error).__name__}: {error}".split("\n")[0][:160]
    names = [c.__name__ for c in type(error).__mro__]
    wanted = row["error"][-1] if len(row["error"]) > 2 else row["error"][0]
    if wanted in names:
        return None
    return f"raises {type(error).__name__} ({error}) instead of {wanted}"


def _arguments(row, reader):
    tensors = []
    args = [decode(a, reader, tensors) for a in row["args"]]
    kwargs = {k: decode(v, reader, tensors) for k, v in row.get("kwargs", {}).items()}
    return args, kwargs, tensors


def check_forward(row, reader, call=lambda work: work()):
    """None, or what differs; ``call`` does the work of the function."""
    try:
        args, kwargs, tensors = _arguments(row, reader)
        value = call(lambda: resolve(row["fn"])(*args, **kwargs))
        got = [t.numpy() for t in tensors_in(value)]
    except Exception as error:
        return error_difference(error, row)
    if "error" in row:
        return f"no error, expected {row['error'][2]}"
    if "py" in row["out"] and not isinstance(value, mge.Tensor):
        want = row["out"]["py"]
        return None if value == want else f"{value!r} instead of {want!r}"
    want = references(row["out"])
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    text = reader.misplaced(tensors_in(value) + tensors) if tensors else None
    if text:
        return f"a result or an argument {text}"
    for g, ref in zip(got, want, strict=True):
        text = difference(g, reader.array(ref), "compare" in row)
        if text:
            return text
    for t, ref in zip(tensors, row.get("after", []), strict=False):
        text = difference(t.numpy(), reader.array(ref))
        if text:
            return f"argument after the call: {text}"
    return None


def check_gradient(row, reader):
    """None, or what differs."""
    args, kwargs, tensors = _arguments(row, reader)
    with GradManager().attach([tensors[int(k)] for k in row["grad"]]) as gm:
        value = resolve(row["fn"])(*args, **kwargs)
        ys = tensors_in(value)
        ys = [args[0]] if "after" in row else [y for y in ys if np.dtype(y.dtype).kind == "f"]
        gm.backward(ys, [reader.tensor(d) for d in row["dy"]])
    for k, ref in row["grad"].items():
        grad = tensors[int(k)].grad
        if (grad is None) != (ref is None):
            return f"gradient {k}: {'missing' if grad is None else 'should be None'}"
        text = None if ref is None else difference(grad.numpy(), reader.array(ref))
        text = text or reader.misplaced([] if grad is None else [grad])
        if text:
            return f"gradient {k}: {text}"
    return None


def check_case(row, reader):
    """None, or what differs, forward and backward."""
    text = check_forward(row, reader)
    if text or "grad" not in row:
        return text
    try:
        return check_gradient(row, reader)
    except Exception as error:
        return f"gradient raises {type(error).__name__}: {error}".split("\n")[0][:160]


def load_submodules():
    """Make F.metric and the like reachable as attributes."""
    for part in ("loss", "metric", "nn", "vision"):
        importlib.import_module(f"megengine.functional.{part}")
