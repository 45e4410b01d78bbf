# SPDX-License-Identifier: Apache-2.0
"""Random nodes of each ONNX operator whose parameters may be constants or inputs."""

from dataclasses import dataclass, field

import numpy as np

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 3.0, 6.0, 7.0]


@dataclass
class Draw:
    """A node: data, which are always inputs, and parameters, which may be constants."""

    op: str
    data: list
    parameters: list = field(default_factory=list)
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    opset: int = 18
    tolerance: float = 1e-5
    # True: the standard does not say what happens, so that only both ways of ours are compared.
    is_open: bool = False


def shape_of(r, least=1, most=4, extents=(1, 2, 3, 5)):
    return [int(r.choice(extents)) for _ in range(r.integers(least, most + 1))]


def floats(r, shape, special=0.3, dtype=np.float32):
    x = r.normal(size=shape) * 3
    return np.where(r.random(shape) < special, r.choice(SPECIAL, shape), x).astype(dtype)


def finite(r, shape, dtype=np.float32):
    return (r.normal(size=shape) * 3).astype(dtype)


def whole(r, shape, low=-9, high=10, dtype=np.int64):
    return r.integers(low, high, shape).astype(dtype)


def i64(*values):
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def perhaps(r, value, other, chance=0.15):
    """Mostly the first; the second is often wrong."""
    return other if r.random() < chance else value


def unary(op, opset=18, tolerance=2e-5, **attributes):
    def draw(r):
        dtype = r.choice([np.float32, np.float32, np.float64]) if op in BOTH_WIDTHS else np.float32
        x = floats(r, shape_of(r), dtype=dtype)
        given = {k: (v(r) if callable(v) else v) for k, v in attributes.items()}
        return Draw(op, [x], attributes=given, opset=opset, tolerance=tolerance)

    return draw


BOTH_WIDTHS = {"Relu", "Sign", "Abs", "Neg", "Floor", "Ceil"}


def extreme(r):
    shape = shape_of(r)
    parts = [floats(r, shape) for _ in range(r.integers(1, 4))]
    if r.random() < 0.3:
        parts[-1] = floats(r, [])
    cut = int(r.integers(0, len(parts)))
    return Draw(str(r.choice(["Max", "Min"])), parts[: cut + 1], parts[cut + 1 :])


def clip(r):
    dtype = r.choice([np.float32, np.int32])
    x = floats(r, shape_of(r)) if dtype == np.float32 else whole(r, shape_of(r), dtype=dtype)
    low, high = sorted(r.integers(-4, 7, 2)) if r.random() < 0.8 else r.integers(-4, 7, 2)
    return Draw("Clip", [x], [np.array(low, dtype), np.array(high, dtype)])


def prelu(r):
    x = floats(r, shape_of(r))
    return Draw("PRelu", [x], [finite(r, x.shape[-1:])], opset=16)


def power(r):
    x = floats(r, shape_of(r))
    return Draw("Pow", [x], [np.array(r.choice([0, 1, 2, 3, 0.5, -1, -2]), np.float32)], opset=15)


def quotient(r):
    dtype = r.choice([np.int32, np.int64, np.float32])
    shape = shape_of(r)
    if dtype == np.float32:
        return Draw("Div", [floats(r, shape)], [floats(r, shape)])
    a, b = whole(r, shape, dtype=dtype), whole(r, shape, 1, 5, dtype) * r.choice([-1, 1], shape)
    return Draw("Div", [a], [b.astype(dtype)])


def remainder(r):
    fmod = int(r.integers(0, 2))
    shape = shape_of(r)
    if fmod:
        return Draw("Mod", [floats(r, shape)], [floats(r, shape)], {"fmod": 1})
    return Draw("Mod", [whole(r, shape)], [whole(r, shape, 1, 5) * r.choice([-1, 1], shape)])


def choice(r):
    shape = shape_of(r)
    return Draw("Where", [r.random(shape) < 0.5], [floats(r, shape), floats(r, shape)], opset=16)


def some_axes(r, rank, wrong=0.1):
    count = int(r.integers(1, rank + 1))
    axes = r.permutation(rank)[:count]
    axes = np.where(r.random(count) < 0.5, axes, axes - rank)
    if r.random() < wrong:
        axes[0] = r.choice([rank, -rank - 1, axes[-1], 1 << 40])
    return axes.astype(np.int64)


REDUCTIONS = ["Sum", "Max", "Min", "Mean", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]


def reduction(r):
    kind = str(r.choice(REDUCTIONS))
    whole_numbers = kind in ("Sum", "Max", "Min", "Prod") and r.random() < 0.4
    shape = shape_of(r, 1, 5, (1, 2, 3))
    if kind in ("Sum", "Max", "Min") and r.random() < 0.15:
        shape[0] = 0
    dtype = r.choice([np.int32, np.int64]) if whole_numbers else np.float32
    x = whole(r, shape, -3, 4, dtype) if whole_numbers else floats(r, shape, 0.05)
    if kind in ("LogSum", "LogSumExp"):
        x = np.abs(x)
    how = {"keepdims": int(r.integers(0, 2))}
    return Draw(f"Reduce{kind}", [x], [some_axes(r, len(shape))], how, tolerance=1e-4)


def extreme_place(r):
    x = floats(r, shape_of(r, 1, 3))
    how = {"axis": int(r.integers(-x.ndim, x.ndim)), "keepdims": int(r.integers(0, 2))}
    how["select_last_index"] = 0
    return Draw(str(r.choice(["ArgMax", "ArgMin"])), [x], attributes=how)


def top(r):
    shape = shape_of(r, 1, 3, (2, 5, 9))
    axis = int(r.integers(-len(shape), len(shape)))
    x = floats(r, shape) if r.random() < 0.7 else whole(r, shape)
    k = int(r.integers(0, shape[axis] + 1))
    how = {"axis": axis, "largest": int(r.integers(0, 2))}
    return Draw("TopK", [x], [i64([perhaps(r, k, r.choice([-1, 99]), 0.1)])], how, outputs=2)


def running_sum(r):
    x = floats(r, shape_of(r, 1, 3), 0.02)
    how = {"exclusive": int(r.integers(0, 2)), "reverse": int(r.integers(0, 2))}
    axis = r.integers(-x.ndim, x.ndim)
    return Draw("CumSum", [x], [i64(perhaps(r, axis, x.ndim, 0.1))], how, opset=14)


def part(r):
    shape = shape_of(r, 1, 4, (0, 1, 3, 10))
    count = int(r.integers(1, len(shape) + 1))
    axes = some_axes(r, len(shape), 0.05)[:count]
    bounds = [0, 1, -1, 2, -3, 9, 11, -11, -10, 1 << 40, (1 << 63) - 1, -(1 << 63), -(1 << 40)]
    picked = [
        np.array([bounds[i] for i in r.integers(0, len(bounds), len(axes))], np.int64)
        for _ in range(2)
    ]
    steps = r.choice(
        [1, 1, 2, -1, -2, 7, -7, 0], len(axes), p=[0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.08, 0.02]
    )
    return Draw("Slice", [finite(r, shape)], [*picked, axes, steps.astype(np.int64)], opset=13)


def margins(r):
    x = finite(r, shape_of(r, 1, 3, (2, 3, 5)))
    mode = str(r.choice(["constant", "edge", "reflect", "wrap"]))
    low = -2 if r.random() < 0.5 else 0
    pads = r.integers(low, 2 if mode == "reflect" else 4, 2 * x.ndim).astype(np.int64)
    parameters = [pads] + ([np.array(7.5, np.float32)] if mode == "constant" else [])
    # NumPy pads what is cut to nothing, ONNX Runtime does not.
    cut = np.minimum(pads, 0)
    left = np.array(x.shape) + cut[: x.ndim] + cut[x.ndim :]
    reach = np.maximum(pads, 0).reshape(2, -1).max(0)
    is_open = bool((left <= (reach if mode in ("reflect", "wrap") else 0)).any())
    return Draw("Pad", [x], parameters, {"mode": mode}, opset=19, is_open=is_open)


def parts(r):
    shape = shape_of(r, 1, 3, (4, 5, 9))
    axis = int(r.integers(-len(shape), len(shape)))
    count = int(r.integers(1, 4))
    cuts = np.sort(r.integers(0, shape[axis] + 1, count - 1))
    sizes = np.diff(np.concatenate([[0], cuts, [shape[axis]]])).astype(np.int64)
    if r.random() < 0.25:
        sizes[0] += r.choice([-1, 1, -9])
    return Draw("Split", [finite(r, shape)], [sizes], {"axis": axis}, outputs=count)


def copies(r):
    x = finite(r, shape_of(r, 1, 3))
    repeats = r.integers(0, 4, x.ndim).astype(np.int64)
    if r.random() < 0.15:
        repeats[0] = -1
    return Draw("Tile", [x], [repeats], opset=13)


def expansion(r):
    target = shape_of(r, 1, 4)
    x = finite(r, [n if r.random() < 0.5 else 1 for n in target[r.integers(0, len(target)) :]])
    target = np.array(target, np.int64)
    if r.random() < 0.2:
        target[r.integers(0, len(target))] = r.choice([-1, 7, 0])
    return Draw("Expand", [x], [target], opset=13)


def new_shape(r):
    x = finite(r, shape_of(r, 1, 4))
    target = list(r.permutation(x.shape))
    if r.random() < 0.5:
        target[r.integers(0, len(target))] = -1
    if r.random() < 0.15:
        target[0] = r.choice([-2, 7, -1])
    return Draw("Reshape", [x], [i64(target)], opset=14)


def squeezed(r):
    shape = shape_of(r, 2, 4)
    axis = int(r.integers(0, len(shape)))
    shape[axis] = perhaps(r, 1, 3)
    return Draw("Squeeze", [finite(r, shape)], [i64([axis - len(shape) * int(r.integers(0, 2))])])


def unsqueezed(r):
    x = finite(r, shape_of(r, 1, 3))
    count = int(r.integers(1, 3))
    axes = r.permutation(x.ndim + count)[:count]
    axes = np.where(r.random(count) < 0.5, axes, axes - x.ndim - count)
    if r.random() < 0.15:
        axes[0] = r.choice([9, -9, axes[-1]])
    return Draw("Unsqueeze", [x], [axes.astype(np.int64)], opset=13)


def places(r, shape, extent, dtype=np.int64):
    index = r.integers(-extent, extent, shape).astype(dtype)
    if r.random() < 0.15 and index.size:
        wrong = [extent, -extent - 1] + (
            [1 << 40, -(1 << 40), (1 << 32)] if dtype == np.int64 else []
        )
        index.flat[0] = wrong[r.integers(0, len(wrong))]
    return index


def gather(r):
    x = floats(r, shape_of(r, 1, 3))
    axis = int(r.integers(-x.ndim, x.ndim))
    dtype = r.choice([np.int64, np.int32])
    return Draw(
        "Gather",
        [x],
        [places(r, shape_of(r, 0, 2), x.shape[axis], dtype)],
        {"axis": axis},
        opset=13,
    )


def gather_elements(r):
    x = floats(r, shape_of(r, 1, 3))
    axis = int(r.integers(-x.ndim, x.ndim))
    shape = list(x.shape)
    shape[axis] = int(r.integers(1, 5))
    return Draw("GatherElements", [x], [places(r, shape, x.shape[axis])], {"axis": axis}, opset=13)


def scatter_elements(r):
    x = floats(r, shape_of(r, 1, 3), 0.1)
    axis = int(r.integers(-x.ndim, x.ndim))
    shape = list(x.shape)
    reduction = str(r.choice(["none", "add", "mul", "max", "min"]))
    index = places(r, shape, x.shape[axis])
    if reduction == "none":  # the standard does not define which of several values for one position
        # wins
        index = np.argsort(r.random(shape), axis=axis).astype(np.int64)
    how = {"axis": axis, "reduction": reduction}
    return Draw("ScatterElements", [x, floats(r, shape, 0.1)], [index], how, tolerance=1e-4)


def gather_nd(r):
    x = floats(r, shape_of(r, 2, 3))
    count = int(r.integers(1, x.ndim + 1))
    rows = int(r.integers(1, 4))
    index = np.stack([places(r, [rows], x.shape[i]) for i in range(count)], -1)
    return Draw("GatherND", [x], [index], opset=13)


def scatter_nd(r):
    x = floats(r, shape_of(r, 2, 3), 0.1)
    reduction = str(r.choice(["add", "mul", "max", "min"]))
    index = np.stack([places(r, [3], x.shape[0])], -1)
    values = floats(r, [3, *x.shape[1:]], 0.1)
    return Draw("ScatterND", [x, values], [index], {"reduction": reduction}, tolerance=1e-4)


def one_hot(r):
    depth = int(r.integers(1, 5))
    index = whole(r, shape_of(r, 1, 2), -depth - 1, depth + 1)
    how = {"axis": int(r.integers(-1, index.ndim + 1))}
    return Draw(
        "OneHot", [index], [i64(perhaps(r, depth, 0, 0.1)), floats(r, [2], 0)], how, opset=11
    )


def numbers(r):
    first, last = r.integers(-5, 6, 2)
    step = r.choice([1, 2, -1, -3])
    return Draw("Range", [], [i64(int(n)) for n in (first, last, step)], opset=11)


def triangle(r):
    x = floats(r, shape_of(r, 2, 3))
    return Draw(
        "Trilu", [x], [i64(int(r.integers(-4, 5)))], {"upper": int(r.integers(0, 2))}, opset=14
    )


def compressed(r):
    x = floats(r, shape_of(r, 1, 3))
    axis = int(r.integers(-x.ndim, x.ndim))
    return Draw("Compress", [x], [r.random(x.shape[axis]) < 0.5], {"axis": axis}, opset=11)


def filled(r):
    return Draw("ConstantOfShape", [], [i64(perhaps(r, shape_of(r, 1, 3), [-1], 0.1))], opset=9)


def reversed_rows(r):
    x = floats(r, [int(r.integers(1, 5)), int(r.integers(1, 4)), 2])
    lengths = r.integers(1, x.shape[0] + 1, x.shape[1]).astype(np.int64)
    return Draw("ReverseSequence", [x], [lengths], opset=10)


COORDINATES = [
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def resized(r):
    x = finite(r, [1, 2, int(r.integers(2, 12)), int(r.integers(2, 12))])
    how = {"mode": str(r.choice(["nearest", "linear", "cubic"]))}
    how["coordinate_transformation_mode"] = str(r.choice(COORDINATES))
    if how["mode"] == "nearest":
        how["nearest_mode"] = str(r.choice(NEAREST))
    if r.random() < 0.5:
        sizes = [1, 2, *(int(n) for n in r.integers(1, 15, 2))]
        return Draw("Resize", [x], [None, None, i64(sizes)], how, opset=19, tolerance=1e-4)
    scales = [1, 1, *r.choice([0.5, 2, 1.3, 0.7, 0.3, 1.5, 3], 2)]
    return Draw("Resize", [x], [None, np.array(scales, np.float32)], how, opset=19, tolerance=1e-4)


def sampled(r):
    x = finite(r, [1, 2, 5, 6])
    how = {
        "mode": str(r.choice(["linear", "nearest", "cubic"])),
        "align_corners": int(r.integers(0, 2)),
    }
    how["padding_mode"] = str(r.choice(["zeros", "border", "reflection"]))
    grid = (r.random([1, 3, 4, 2]) * 4 - 2).astype(np.float32)
    return Draw("GridSample", [x], [grid], how, opset=20, tolerance=1e-4)


def largest(r):
    x = finite(r, [1, 2, *shape_of(r, 1, 3, (4, 5, 7))])
    how = {"kernel_shape": [int(n) for n in r.integers(1, 4, x.ndim - 2)]}
    how["strides"] = [int(n) for n in r.integers(1, 3, x.ndim - 2)]
    how["ceil_mode"] = int(r.integers(0, 2))
    return Draw("MaxPool", [x], attributes=how, opset=12)


def steps(r):
    x = finite(r, [2, 3, 4])
    zero = np.array(r.integers(0, 9), np.uint8)
    return Draw("QuantizeLinear", [x], [np.array(0.25, np.float32), zero], opset=13)


def frames(r):
    x = finite(r, [2, 16, 1] if r.random() < 0.5 else [2, 16])
    length = int(r.choice([4, 8]))
    parameters = [i64(perhaps(r, int(r.integers(1, 4)), 0, 0.1)), finite(r, [length]), i64(length)]
    return Draw("STFT", [x], parameters, opset=17, tolerance=1e-4)


def einsum(r):
    equation, a, b = [
        ("ij,jk->ik", [2, 3], [3, 4]),
        ("bij,bjk->bik", [2, 2, 3], [2, 3, 2]),
        ("i,i->", [5], [5]),
        ("ij,ij->j", [2, 3], [2, 3]),
    ][r.integers(0, 4)]
    make = [finite, whole, lambda r, s: whole(r, s, dtype=np.int32)][r.integers(0, 3)]
    return Draw(
        "Einsum", [make(r, a)], [make(r, b)], {"equation": equation}, opset=12, tolerance=1e-4
    )


def regions(r):
    x = finite(r, [2, 3, 8, 9])
    corner = r.random([3, 2]) * 4
    boxes = np.concatenate([corner, corner + r.random([3, 2]) * 8], 1).astype(np.float32)
    how = {"output_height": int(r.integers(1, 4)), "output_width": int(r.integers(1, 4))}
    how["sampling_ratio"] = int(r.choice([0, 0, 2]))
    how["mode"] = str(r.choice(["avg", "avg", "max"]))
    how["coordinate_transformation_mode"] = str(r.choice(["half_pixel", "output_half_pixel"]))
    return Draw("RoiAlign", [x, boxes], [whole(r, [3], 0, 2)], how, opset=16, tolerance=1e-4)


def cropped(r):
    x = finite(r, [4, 5])
    return Draw("CenterCropPad", [x], [i64([int(n) for n in r.integers(1, 8, 2)])])


def not_zero(r):
    return Draw("NonZero", [floats(r, shape_of(r, 1, 3))], opset=13)


def shifted(r):
    how = {"direction": str(r.choice(["LEFT", "RIGHT"]))}
    x, n = (whole(r, [3, 4], 0, high, np.uint32) for high in (999, 8))
    return Draw("BitShift", [x], [n], how, opset=11)


def line(r):
    return float(np.float32(r.choice([0.1, 0.2, 0.5, 1.0])))


DRAWS = [
    *(unary(op) for op in ("Relu", "Sign", "Abs", "Neg", "Floor", "Ceil", "Round", "Sqrt", "Exp")),
    *(
        unary(op)
        for op in ("Sigmoid", "Tanh", "Erf", "Reciprocal", "HardSwish", "Softplus", "Softsign")
    ),
    *(unary(op) for op in ("Selu", "IsNaN", "Mish", "Log")),
    *(unary(op, alpha=line) for op in ("Elu", "LeakyRelu", "Celu", "ThresholdedRelu")),
    unary("HardSigmoid", alpha=line, beta=line),
    unary("Shrink", lambd=line, bias=line),
    unary("Gelu", opset=20),
    unary("IsInf", detect_negative=lambda r: int(r.integers(0, 2))),
    *[
        extreme,
        clip,
        prelu,
        power,
        quotient,
        remainder,
        choice,
        reduction,
        reduction,
        extreme_place,
    ],
    *[top, top, running_sum, part, part, part, margins, margins, parts, parts, copies, expansion],
    *[new_shape, squeezed, unsqueezed, gather, gather_elements, scatter_elements, gather_nd],
    *[scatter_nd, one_hot, numbers, triangle, compressed, filled, reversed_rows, resized, resized],
    *[sampled, largest, steps, frames, einsum, regions, cropped, not_zero, shifted],
]
