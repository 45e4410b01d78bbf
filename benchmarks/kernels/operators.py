#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eager operators of ``megengine.functional`` beside those of PyTorch, in one process.

Prints the geometric mean of MGE's time over PyTorch's, and the operators whose ratio is above a
limit, the slowest first. Times are the least of several calls. benchmarks/README.md has a command.
"""

import argparse
import os
import re
import time
import warnings

import numpy as np

SECONDS = 0.1  # for each operator and engine
INTEGERS = "uint8", "int8", "int16", "int32"
FLOATS = "float32", "float16"
MATRIX = 1024, 1024
IMAGE = 8, 64, 56, 56


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="", help="regular expression of the names to run")
    parser.add_argument("--above", type=float, default=1.3, help="least ratio to print (1.3)")
    parser.add_argument("--threads", type=int, default=1, help="of both engines (1)")
    parser.add_argument("--backward", action="store_true", help="gradients too, of float32 alone")
    return parser.parse_args()


OPTIONS = parsed()
os.environ["MGE_THREADS"] = str(OPTIONS.threads)

import torch  # noqa: E402

import megengine as mge  # noqa: E402
import megengine.functional as F  # noqa: E402
from megengine.autodiff import GradManager  # noqa: E402

T = torch.nn.functional
random = np.random.default_rng(0)
cases = {}


def values(shape, dtype):
    """Positive, so that logarithms, powers and divisions are of numbers."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return random.integers(1, 60, shape).astype(dtype)
    return (0.1 + np.abs(random.standard_normal(shape))).astype(dtype)


def case(name, ours, theirs, *shapes, dtype="float32", index=None):
    """``shapes`` are those of the operands, which both functions get, and then the index."""
    if not re.search(OPTIONS.names, f"{name} {dtype}"):
        return
    arrays = [values(shape, dtype) for shape in shapes]
    if OPTIONS.backward and dtype != "float32":
        return
    ints = [] if index is None else [index]
    cases[f"{name} {dtype}"] = (
        runner_of_mge(ours, arrays, ints),
        runner_of_torch(theirs, arrays, ints),
    )


def runner_of_mge(function, arrays, ints):
    operands = [mge.tensor(array, dtype=array.dtype) for array in arrays]
    others = [mge.tensor(array.astype("int32")) for array in ints]
    if not OPTIONS.backward:
        return lambda: function(*operands, *others)
    manager = GradManager().attach(operands)

    def step():
        with manager:
            result = function(*operands, *others)
            manager.backward(result, F.ones_like(result))
        for operand in operands:
            operand.grad = None

    return step


def runner_of_torch(function, arrays, ints):
    operands = [torch.tensor(array, requires_grad=OPTIONS.backward) for array in arrays]
    others = [torch.tensor(array).long() for array in ints]
    if not OPTIONS.backward:
        return lambda: function(*operands, *others)

    def step():
        result = function(*operands, *others)
        result.backward(torch.ones_like(result))
        for operand in operands:
            operand.grad = None

    return step


def add_elementwise():
    both = {
        "add": (lambda a, b: a + b,) * 2,
        "mul": (lambda a, b: a * b,) * 2,
        "maximum": (F.maximum, torch.maximum),
        "floor_div": (lambda a, b: a // b,) * 2,
        "mod": (lambda a, b: a % b,) * 2,
        "less": (lambda a, b: a < b,) * 2,
    }
    shapes = {"": MATRIX, " row": (1, 1024), " column": (1024, 1)}
    for name, functions in both.items():
        if OPTIONS.backward and name in ("floor_div", "mod", "less"):
            continue
        for dtype in INTEGERS + FLOATS:
            for kind, shape in shapes.items():
                case(name + kind, *functions, MATRIX, shape, dtype=dtype)
    for dtype in FLOATS:
        for name in "exp log sqrt sin cos tanh sigmoid square abs relu gelu silu softplus".split():
            theirs = getattr(torch, name, None) or getattr(T, name)
            case(name, getattr(F, name), theirs, MATRIX, dtype=dtype)
        case("hswish", F.hswish, T.hardswish, MATRIX, dtype=dtype)
        for exponent in (2, 3, 0.5):
            power = lambda x, exponent=exponent: x**exponent  # noqa: E731
            case(f"pow {exponent}", power, power, MATRIX, dtype=dtype)
    case("not", F.logical_not, torch.logical_not, MATRIX, dtype="bool")
    if OPTIONS.backward:
        return
    for dtype in INTEGERS + FLOATS:
        for target in ("float32", "int32", "uint8", "float16"):
            to = getattr(torch, target)
            case(
                f"to {target} from",
                lambda x, target=target: x.astype(target),
                lambda x, to=to: x.to(to, copy=True),
                MATRIX,
                dtype=dtype,
            )


def add_reductions():
    pairs = {"sum": (F.sum, torch.sum), "max": (F.max, torch.amax)}
    for dtype in INTEGERS + FLOATS:
        for axis in (0, 1):
            for name, (ours, theirs) in pairs.items():
                case(
                    f"{name} axis {axis}",
                    lambda x, f=ours, axis=axis: f(x, axis=axis),
                    lambda x, f=theirs, axis=axis: f(x, axis),
                    MATRIX,
                    dtype=dtype,
                )
            if not OPTIONS.backward:
                case(
                    f"argmax axis {axis}",
                    lambda x, axis=axis: F.argmax(x, axis=axis),
                    lambda x, axis=axis: torch.argmax(x, axis),
                    MATRIX,
                    dtype=dtype,
                )
    case("cumsum", lambda x: F.cumsum(x, 1), lambda x: torch.cumsum(x, 1), MATRIX)
    case("sort", lambda x: F.sort(x)[0], lambda x: torch.sort(x)[0], MATRIX)
    case("topk", lambda x: F.topk(x, 5, descending=True)[0], lambda x: torch.topk(x, 5)[0], MATRIX)
    for name, axis in (("softmax", -1), ("softmax of columns", 0)):
        case(name, lambda x, a=axis: F.softmax(x, a), lambda x, a=axis: torch.softmax(x, a), MATRIX)


def add_moves():
    rows = random.integers(0, 1024, 2048)
    places = random.integers(0, 1024, (1024, 512))
    images = 8, 224, 224, 3
    for dtype in ("uint8", "int16", *FLOATS):
        case(
            "transpose",
            lambda x: F.transpose(x, (1, 0)),
            lambda x: x.t().contiguous(),
            MATRIX,
            dtype=dtype,
        )
        case(
            "channels first",
            lambda x: F.transpose(x, (0, 3, 1, 2)),
            lambda x: x.permute(0, 3, 1, 2).contiguous(),
            images,
            dtype=dtype,
        )
        case(
            "concat",
            lambda x: F.concat([x, x], 1),
            lambda x: torch.cat([x, x], 1),
            MATRIX,
            dtype=dtype,
        )
        case(
            "stack",
            lambda x: F.stack([x, x], 2),
            lambda x: torch.stack([x, x], 2),
            MATRIX,
            dtype=dtype,
        )
        case("roll", lambda x: F.roll(x, 5, 1), lambda x: torch.roll(x, 5, 1), MATRIX, dtype=dtype)
        case("tile", lambda x: F.tile(x, (2, 2)), lambda x: x.repeat(2, 2), MATRIX, dtype=dtype)
        case("take rows", lambda x, i: x[i], lambda x, i: x[i], MATRIX, dtype=dtype, index=rows)
        case(
            "take columns",
            lambda x, i: x[:, i],
            lambda x, i: x[:, i],
            MATRIX,
            dtype=dtype,
            index=rows,
        )
        case(
            "gather",
            lambda x, i: F.gather(x, 1, i),
            lambda x, i: torch.gather(x, 1, i),
            MATRIX,
            dtype=dtype,
            index=places,
        )
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), lambda x: T.pixel_shuffle(x, 2), IMAGE)
    for mode in ("bilinear", "nearest"):
        case(
            mode,
            lambda x, mode=mode: F.vision.interpolate(x, scale_factor=2, mode=mode),
            lambda x, mode=mode: T.interpolate(x, scale_factor=2, mode=mode),
            IMAGE,
        )


def add_layers():
    windows = {
        "3x3": ((64, 64, 3, 3), {"padding": 1}),
        "1x1": ((64, 64, 1, 1), {}),
        "1x1 stride 2": ((64, 64, 1, 1), {"stride": 2}),
        "depthwise 3x3": ((64, 1, 1, 3, 3), {"padding": 1, "groups": 64}),
        "depthwise 7x7": ((64, 1, 1, 7, 7), {"padding": 3, "groups": 64}),
        "depthwise 31x31": ((64, 1, 1, 31, 31), {"padding": 15, "groups": 64}),
    }
    for name, (shape, options) in windows.items():
        case(
            f"conv2d {name}",
            lambda x, w, options=options: F.conv2d(x, w, **options),
            lambda x, w, options=options: T.conv2d(x, w.reshape(64, *w.shape[-3:]), **options),
            IMAGE,
            shape,
        )
    case(
        "conv1d",
        lambda x, w: F.conv1d(x, w, padding=2),
        lambda x, w: T.conv1d(x, w, padding=2),
        (16, 64, 500),
        (64, 64, 5),
    )
    case(
        "max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: T.max_pool2d(x, 3, 2, 1), IMAGE
    )
    case("linear", F.linear, T.linear, (128, 512), (512, 512), (512,))
    case("matmul", F.matmul, torch.matmul, (256, 512), (512, 256))
    case("matmul of batches", F.matmul, torch.matmul, (64, 64, 32), (64, 32, 64))
    case(
        "layer_norm",
        lambda x, w, b: F.nn.layer_norm(x, (1024,), True, w, b),
        lambda x, w, b: T.layer_norm(x, (1024,), w, b),
        MATRIX,
        (1024,),
        (1024,),
    )
    case(
        "group_norm",
        lambda x, w, b: F.nn.group_norm(x, 8, True, w, b),
        lambda x, w, b: T.group_norm(x, 8, w, b),
        IMAGE,
        (64,),
        (64,),
    )


def add_random():
    if OPTIONS.backward:
        return
    case("normal", lambda: mge.random.normal(size=MATRIX), lambda: torch.randn(MATRIX))
    case("uniform", lambda: mge.random.uniform(size=MATRIX), lambda: torch.rand(MATRIX))
    case("dropout", lambda x: F.dropout(x, 0.3), lambda x: T.dropout(x, 0.3), MATRIX)


def least(run):
    run()
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(OPTIONS.threads)
    for add in (add_elementwise, add_reductions, add_moves, add_layers, add_random):
        add()
    rows = [(least(ours), least(theirs), name) for name, (ours, theirs) in cases.items()]
    if not rows:
        raise SystemExit(f"no operator has a name like {OPTIONS.names!r}")
    mean = np.exp(np.mean([np.log(ours / theirs) for ours, theirs, _ in rows]))
    print(f"{len(rows)} operators, geometric mean {mean:.2f}\n")
    print("| operator | MGE, us | PyTorch, us | ratio |\n|---|---|---|---|")
    for ours, theirs, name in sorted(rows, key=lambda row: row[1] / row[0]):
        if ours / theirs > OPTIONS.above:
            print(f"| {name} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
