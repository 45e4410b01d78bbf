# SPDX-License-Identifier: Apache-2.0
"""Each operator as ONNX: valid, and with our numbers in another engine.

It is recorded alone, for small shapes; ``onnx.checker`` looks at the file in full and
ONNX Runtime runs it. Most run with another batch as well, which the file has to allow.
"""

import numpy as np
import pytest
from onnx_cases import (
    OPSETS,
    TOLERANCE,
    Case,
    X,
    arrays,
    assert_near,
    assert_reads_again,
    exported,
    extents,
    mask,
    real,
    run,
    whole,
)
from test_onnx_export_control import CONTROL

import megengine as mge
import megengine.functional as F
from megengine import _mge
from megengine.jit import trace

ops = _mge.ops

POSITIVE = real(4, 6, low=0.1)
IMAGES = real(4, 8, 9, 7)
TIES = whole(4, 6, low=0, high=3, dtype="float32")
HEADS = real(4, 6, 5, 8), real(4, 2, 7, 8), real(4, 2, 7, 3)
SIDE_BY_SIDE = real(4, 5, 6, 8), real(4, 7, 2, 8), real(4, 7, 2, 3)
# The second query sees nothing.
HIDING = np.where(np.arange(35).reshape(5, 7) // 7 == 1, -np.inf, real(5, 7)).astype("float32")
TIES = np.array(
    [[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.0], [1, 2, -3, 0.2, -0.7, 3.5, 4.5, 0]],
    "float32",
)


def same(name, *inputs, **how):
    return Case(getattr(ops, name), *inputs, op=name, **how)


def unary(names, x):
    return {name: same(name, x) for name in names.split()}


def binary(names, a, b):
    return {name: same(name, a, b) for name in names.split()}


def weight(*shape):
    return mge.Tensor(real(*shape, low=-0.3, high=0.3))


def through_narrow(x, dtype, overflow="saturates"):
    return ops.convert(ops.convert_narrow(x, dtype=dtype, overflow=overflow), dtype="float32")


def constants(*lists):
    return [mge.Tensor(np.array(values, dtype)) for values, dtype in lists]


# Two trees, one asks for x0 <= 0.25 and then x1 > -0.5, the other for x2 == 0. A leaf says nothing.
TREES = constants(
    ([0, 3, 6, 6, 6, 4, 6, 6], "uint8"),
    ([0, 1, 0, 0, 0, 2, 0, 0], "int32"),
    ([0.25, -0.5, 0, 0, 0, 0, 0, 0], "float32"),
    ([[1, 4], [2, 3], [0, 1], [1, 3], [3, 4], [6, 7], [4, 5], [5, 5]], "int32"),
    ([1, 0, 0, 0, 0, 0, 0, 0], "uint8"),
    ([0, 5], "int32"),
    ([0, 0, 1, 1, 0], "int32"),
    ([1.0, -2.0, 3.0, 0.5, 4.0], "float32"),
)
GAPS = np.where(mask(6, 3), np.float32("nan"), real(6, 3)).astype("float32")
INDEX = whole(4, 5, low=0, high=6)
BOXES = np.array(
    [[0, 0, 4, 4], [0.5, 0, 4, 4], [5, 5, 8, 9], [5, 5, 8, 8], [0, 6, 2, 9]], "float32"
)
SCORES = np.array([0.3, 0.9, 0.5, 0.8, 0.1], "float32")
GRID = real(4, 3, 6, 2, low=0.1, high=5.9)
WIDE_GRID = real(4, 3, 6, 2, low=-3.0, high=9.0)
REGIONS = np.array([[0, 0, 0, 3, 4], [1, 1, 1, 6, 5], [3, 2, 0, 6, 8]], "float32")
SEED = mge.Tensor([1, 2], dtype="int32")
ONE = mge.Tensor(np.array(0.05, "float32"))
STATISTICS = [mge.Tensor(real(1, 3, 1, 1, low=0.5)) for _ in range(4)]

CASES = (
    unary(
        "abs asinh atan ceil cos cosh erf exp expm1 floor gelu hsigmoid hswish leaky_relu "
        "logsigmoid neg relu relu6 round round_to_even sigmoid sign silu sin sinh softplus square "
        "tan tanh copy isinf isnan",
        X * 3,
    )
    | unary("log log1p reciprocal rsqrt sqrt", POSITIVE)
    | unary("acos asin atanh", real(4, 6, low=-0.9, high=0.9))
    | unary("acosh", real(4, 6, low=1.1, high=4.0))
    | binary(
        "add sub mul div maximum minimum atan2 logaddexp floor_div mod prelu", X, real(3, 1, 5)
    )
    | binary("equal not_equal less less_equal greater greater_equal", whole(4, 6), whole(4, 6))
    | binary("logical_and logical_or logical_xor", mask(4, 6), mask(4, 6))
    | {
        f"bitwise_{name}": same(f"bitwise_{name}", *[whole(4, 6, low=-99, high=99)] * 2, least=18)
        for name in ("and", "or", "xor")
    }
    | {"bitwise_not": same("bitwise_not", whole(4, 6, low=-99, high=99))}
    | {
        "bit_cast": Case(lambda x: ops.bit_cast(x, dtype="int32"), X, op="bit_cast", least=26),
        "tree_ensemble": Case(lambda x: ops.tree_ensemble(x, *TREES, targets=2), real(6, 3)),
        "tree_ensemble_average": Case(
            lambda x: ops.tree_ensemble(x, *TREES, targets=2, aggregate="average"), GAPS
        ),
        "convert_narrow": Case(lambda x: through_narrow(x, "float8_e4m3fn"), X * 1e4, least=19),
        "convert_narrow_escapes": Case(
            lambda x: through_narrow(x, "float8_e5m2", "escapes"), X, least=19
        ),
    }
    | binary("left_shift right_shift", whole(4, 6, low=-99, high=99), whole(4, 6, low=0, high=8))
    | {
        "neg_unsigned": same("neg", whole(4, 6, low=0, high=255, dtype="uint8")),
        "add_integers": same("add", whole(4, 6), whole(4, 6)),
        "ceil_integers": same("ceil", whole(4, 6)),
        "relu_integers": same("relu", whole(4, 6)),
        "round_ties": same("round", TIES),
        "round_ties_to_even": same("round_to_even", TIES),
        "floor_div_integers": same("floor_div", whole(4, 6), whole(4, 6)),
        "mod_integers": same("mod", whole(4, 6), whole(4, 6)),
        "floor_div_by_number": Case(lambda x: x // 3, whole(4, 6)),
        "right_shift_far": same(
            "right_shift", whole(4, 6, low=-99, high=99), whole(4, 6, low=30, high=33)
        ),
        "pow": same("pow", POSITIVE, real(6)),
        "atan2_axes": same(
            "atan2",
            np.array([[0, 1, -1, 0, 0, 2]], "float32").repeat(4, 0),
            np.array([[0, 0, 0, -1, 1, -2]], "float32").repeat(4, 0),
        ),
        "less_bools": same("less", mask(4, 6), mask(4, 6)),
        "logical_not": same("logical_not", mask(4, 6)),
        "prelu_broadcast": same("prelu", real(4, 1, 5), real(4, 3, 5)),
        "clip": Case(lambda x: ops.clip(x, lower=-1, upper=1.5), X),
        "clip_below": Case(lambda x: ops.clip(x, lower=-1), X),
        "clip_integers": Case(lambda x: ops.clip(x, lower=-3, upper=4), whole(4, 6)),
        "clip_beyond_bytes": Case(
            lambda x: ops.clip(x, lower=-3, upper=300), whole(4, 60, low=0, high=255, dtype="uint8")
        ),
        "clip_to_the_largest_byte": Case(
            lambda x: ops.clip(x, lower=300, upper=400), whole(4, 6, low=0, dtype="uint8")
        ),
        "clip_beyond_int32": Case(lambda x: ops.clip(x, lower=-3, upper=1e10), whole(4, 6)),
        "assert_equal": Case(lambda x: (ops.assert_equal(x, x), x * 2)[1], X),
        "convert": Case(lambda x: x.astype("int32"), X * 3),
        "convert_bool": Case(lambda x: x.astype("bool"), whole(4, 6, low=0, high=2)),
        "half": Case(lambda x: x.astype("float16") + 1, X, tolerance=2e-3),
        "where": same("where", mask(4, 3, 6, 5), X, real(3, 1, 5)),
        "softmax": Case(lambda x: ops.softmax(x, axis=1), X),
        "log_softmax": Case(lambda x: ops.softmax(x, axis=-1, log=True), X),
        "to_device": Case(lambda x: x.to("cpu0") + 0, X),
        "wait_for": same("wait_for", X, X),
    }
    | {  # reductions
        f"{name}_{key}": Case(lambda x, f=name, how=how: getattr(ops, f)(x, **how), X)
        for name in ("sum", "mean", "max", "min", "prod")
        for key, how in {
            "all": {},
            "axes": {"axes": [1, -1]},
            "kept": {"axes": [2], "keepdims": True},
        }.items()
    }
    | {
        f"{name}_{dtype}": Case(
            lambda x, f=name: getattr(ops, f)(x, axes=[1]), whole(4, 6, low=0, dtype=dtype)
        )
        for name in ("sum", "max", "min", "prod")
        for dtype in ("int8", "uint8", "int16")
    }
    | {
        "sum_integers": Case(lambda x: ops.sum(x, axes=[1]), whole(4, 6)),
        "mean_integers": Case(lambda x: ops.mean(x, axes=[1]), whole(4, 6)),
        "max_bools": Case(lambda x: ops.max(x, axes=[1]), mask(4, 6)),
        "argmax_bools": Case(lambda x: ops.argmax(x, axis=1), mask(4, 6)),
        "argmax": Case(lambda x: ops.argmax(x, axis=1), X),
        "argmin": Case(lambda x: ops.argmin(x, axis=-1, keepdims=True), X),
        "cumsum_bytes": Case(lambda x: ops.cumsum(x, axis=1), whole(4, 60, dtype="int8")),
        "cumsum": Case(lambda x: ops.cumsum(x, axis=1), X),
        "cumsum_halves": Case(lambda x: ops.cumsum(x, axis=1), X.astype("float16"), tolerance=1e-3),
        "reduce_to_shape": Case(lambda x, y: ops.reduce_to_shape(x, y), X, real(3, 1, 5)),
    }
    | {  # shapes
        "broadcast_to": Case(lambda x: F.broadcast_to(x, (2, *x.shape)), X, fixed=True),
        "broadcast_to_batch": Case(lambda x, y: F.broadcast_to(y, x.shape), X, real(3, 1, 5)),
        "broadcast_like": Case(lambda x, y: ops.broadcast_like(y, x), X, real(3, 1, 5)),
        "concat": Case(lambda x, y: F.concat([x, y, x], axis=2), X, X),
        "flip": Case(lambda x: ops.flip(x, axes=[1, -1]), X),
        "roll": Case(lambda x: ops.roll(x, shifts=[3, -2], axes=[2, -1]), IMAGES),
        "pad": Case(lambda x: ops.pad(x, before=[0, 1, 0, 2], after=[0, 0, 3, 1], value=1.5), X),
        "pad_reflect": Case(
            lambda x: ops.pad(x, before=[0, 0, 2, 1], after=[0, 0, 1, 2], mode="reflect"), X
        ),
        "pad_replicate": Case(
            lambda x: ops.pad(x, before=[0, 0, 2, 1], after=[0, 0, 1, 2], mode="replicate"), X
        ),
        "reshape": Case(lambda x: F.reshape(x, (x.shape[0], -1)), X),
        "reshape_rest": Case(lambda x: F.reshape(x, (-1, 5)), X),
        "reshape_two": Case(
            lambda x: (
                F.reshape(x, (x.shape[0], 3, 1, x.shape[0] * 6, 5))[:, :, :, ::2]
                if False
                else F.reshape(x, (x.shape[0], 18, 5))
            ),
            X,
        ),
        "reshape_like": Case(lambda x, y: ops.reshape_like(x, y), X, real(4, 90)),
        "flatten": Case(lambda x: F.flatten(x, 1), X),
        "flatten_front": Case(lambda x: F.flatten(x, 0, 1), X),
        "add_axis": Case(lambda x: F.expand_dims(x, [1, 3]), X),
        "remove_axis": Case(lambda x: F.squeeze(x, 1), real(4, 1, 5)),
        "shape_of": Case(lambda x: ops.shape_of(x), X),
        "shape_of_axis": Case(lambda x: ops.shape_of(x, axis=2), X),
        "split": Case(lambda x: F.split(x, [2, 5], axis=2), X),
        "transpose": Case(lambda x: F.transpose(x, (0, 2, 3, 1)), X),
        "extent_arithmetic": Case(
            lambda x: F.full((x.shape[0], x.shape[1] * 2), 3.0) + x[0, 0, 0, 0], X
        ),
    }
    | {  # indexing
        "slice": Case(lambda x: x[:, 1:, ::2, -3:], X),
        "slice_back": Case(lambda x: x[:, ::-1, 4:0:-2], X),
        "slice_index": Case(lambda x: x[:, 1, :, -1], X),
        "index_by_value": Case(lambda x, n: x[:, n], X, np.array(-1, "int32"), op="slice"),
        "set_slice": Case(
            lambda x, y: ops.set_slice(x, y, items=[2, 1, 6, 2, 0, 3, 4, 0, 0, 1]), X, real(4, 3, 1)
        ),
        "set_slice_all": Case(lambda x, y: ops.set_slice(x, y, items=[]), X, real(5)),
        "add_slice": Case(
            lambda x, y: ops.add_slice(x, y, items=[1, 0, 2, 1, 0]), X, real(1, 1, 5)
        ),
        "take": Case(
            lambda x, i: ops.take(x, i, axes=[1]), real(4, 6, 5), whole(2, 3, low=-6, high=6)
        ),
        "take_two": Case(
            lambda x, i, j: ops.take(x, i, j, axes=[1, 2]),
            X,
            whole(7, low=0, high=3),
            whole(2, 7, low=-5, high=5),
        ),
        "take_apart": Case(
            lambda x, i, j: ops.take(x, i, j, axes=[1, 3]),
            X,
            whole(7, low=0, high=3),
            whole(7, low=0, high=5),
        ),
        "set_take": Case(
            lambda x, y: ops.set_take(x, y, mge.Tensor([2, 0]), axes=[1]), X, real(4, 2, 6, 5)
        ),
        "set_take_two": Case(
            lambda x, y: ops.set_take(
                x, y, mge.Tensor([2, 0]), mge.Tensor([[1], [4]]), axes=[1, 3]
            ),
            X,
            real(1),
        ),
        "add_take": Case(
            lambda x, y, i: ops.add_take(x, y, i, axes=[1]),
            X,
            real(4, 7, 6, 5),
            whole(7, low=0, high=3),
            least=16,
        ),
        "embedding": Case(lambda i: ops.embedding(weight(6, 8), i), INDEX),
        "gather": Case(lambda x, i: ops.gather(x, i, axis=1), real(4, 6), INDEX),
        "scatter": Case(
            lambda x, i, s: ops.scatter(x, i, s, axis=1),
            real(4, 6),
            np.argsort(real(4, 6), 1)[:, :5].astype("int32"),
            real(4, 5),
        ),
        "scatter_add": Case(
            lambda x, i, s: ops.scatter_add(x, i, s, axis=1),
            real(4, 6),
            INDEX,
            real(4, 5),
            least=16,
        ),
        "one_hot": Case(lambda i: ops.one_hot(i, num_classes=6), INDEX),
        "indexing_one_hot": Case(
            lambda x, i: ops.indexing_one_hot(x, i, axis=1), real(4, 6), INDEX[:, 0].copy()
        ),
        "indexing_set_one_hot": Case(
            lambda x, i, v: ops.indexing_set_one_hot(x, i, v, axis=1),
            real(4, 6),
            INDEX[:, 0].copy(),
            real(4, 1),
        ),
        "cond_take": Case(lambda x, m: ops.cond_take(x, m), real(4, 6), mask(4, 6)),
        "sort": Case(lambda x: ops.sort(x, axis=1, descending=True), real(4, 6)),
        "sort_batch": Case(lambda x: ops.sort(x, axis=0), real(4, 6)),
        "topk": Case(lambda x: ops.topk(x, k=3), real(4, 6)),
        "topk_smallest": Case(lambda x: ops.topk(x, k=9, descending=False), real(4, 6)),
        "sort_ties": Case(lambda x: ops.sort(x, axis=0, descending=True), TIES),
        "topk_ties": Case(lambda x: ops.topk(x, k=3), TIES),
        "topk_kth": Case(lambda x: ops.topk(x, k=3, kth_only=True), real(4, 6)),
    }
    | {  # made of nothing
        "arange": Case(
            lambda x: x[0, :6] + ops.arange(start=1, stop=7, step=1), real(4, 6), fixed=True
        ),
        "arange_batch": Case(
            lambda x: ops.arange(mge.Tensor(0), x.shape[0], dtype="int32"), X, op="arange"
        ),
        "arange_batch_of_reals": Case(
            lambda x: ops.arange(mge.Tensor(0), x.shape[0], step=0.7), real(7, 2), op="arange"
        ),
        "arange_of_many_reals": Case(
            lambda x: ops.arange(mge.Tensor(0), x.shape[0], step=0.0003), real(7, 2), op="arange"
        ),
        "arange_reals": Case(
            lambda x: x[0, :6] + ops.arange(mge.Tensor(0.0), mge.Tensor(3.0), mge.Tensor(0.5)),
            real(4, 6),
            fixed=True,
            op="arange",
        ),
        "arange_reals_as_integers": Case(
            lambda x: x[0, :6] + ops.arange(start=0, stop=3, step=0.5, dtype="int32"),
            real(4, 6),
            fixed=True,
            op="arange",
        ),
        "linspace": Case(lambda x: x + ops.linspace(start=-1, stop=3, num=6), real(4, 6)),
        "linspace_batch": Case(lambda x: F.linspace(0.0, 1.0, x.shape[0]), X),
        "eye": Case(lambda x: x + ops.eye(n=4, m=6), real(2, 4, 6)),
        "full": Case(
            lambda x: x + ops.full(shape=[600, 1000], value=2.5)[:4, :6], real(4, 6), fixed=True
        ),
        "full_batch": Case(lambda x: F.ones((x.shape[0], 3), dtype="int32"), X),
        "full_like": Case(lambda x: ops.full_like(x, value=3), X),
    }
    | {  # products
        "matmul": Case(lambda x: F.matmul(x, weight(6, 5)), real(4, 6)),
        "matmul_batches": Case(lambda x, y: F.matmul(x, y), real(4, 3, 6, 5), real(4, 1, 5, 7)),
        "matmul_transposed": Case(
            lambda x: ops.matmul(x, weight(5, 6), transpose_b=True), real(4, 6)
        ),
        "matmul_transposed_batches": Case(
            lambda x, y: ops.matmul(x, y, transpose_a=True), real(4, 5, 6), real(4, 5, 3)
        ),
        "matmul_vector": Case(lambda x: F.matmul(x, mge.Tensor(real(6))), real(4, 6)),
        "matmul_bias": Case(
            lambda x, r: ops.matmul(x, weight(6, 5), mge.Tensor(real(5)), r, activation="relu"),
            real(4, 6),
            real(4, 5),
        ),
        "matmul_shorts": Case(
            lambda x: ops.matmul(x, mge.Tensor(whole(6, 5, dtype="int16"))),
            whole(4, 6, dtype="int16"),
        ),
        "matmul_bytes": Case(
            lambda x: ops.matmul(x, mge.Tensor(whole(6, 5, dtype="int8"))),
            whole(4, 6, dtype="int8"),
        ),
        "conv2d": Case(
            lambda x: F.conv2d(
                x, weight(6, 8, 3, 3), mge.Tensor(real(1, 6, 1, 1)), stride=2, padding=1
            ),
            IMAGES,
        ),
        "conv2d_groups": Case(
            lambda x: F.conv2d(x, weight(4, 3, 2, 3, 2), groups=4, dilation=2), IMAGES
        ),
        "conv2d_backward_data": Case(
            lambda x: F.conv_transpose2d(x, weight(8, 5, 3, 3), stride=2, padding=1), IMAGES
        ),
        "conv2d_backward_data_size": Case(
            lambda x: F.conv_transpose2d(
                x, weight(2, 4, 3, 3, 3), stride=2, groups=2, output_padding=1
            ),
            IMAGES,
        ),
    }
    | {
        f"conv2d_{activation}": Case(
            lambda x, r, a=activation: ops.conv2d(
                x, weight(6, 8, 3, 3), mge.Tensor(real(1, 6, 1, 1)), r, padding=[1, 1], activation=a
            ),
            IMAGES,
            real(4, 6, 9, 7),
        )
        for activation in ("relu", "relu6", "hswish", "silu", "gelu", "sigmoid", "tanh")
    }
    | {  # normalisation
        "batch_norm": Case(lambda x: ops.batch_norm(x, *STATISTICS, training=False)[0], X),
        "dropout": Case(lambda x: ops.dropout(x, SEED, probability=0.0)[0], X),
        "layer_norm": Case(lambda x: ops.layer_norm(x, weight(6, 5), weight(6, 5), axes=2)[0], X),
        "layer_norm_plain": Case(lambda x: ops.layer_norm(x, axes=1), X),
        "attention": Case(lambda q, k, v: ops.attention(q, k, v)[0], *HEADS),
        "attention_causal": Case(
            lambda q, k, v: ops.attention(q, k, v, causal=True, scale=0.3)[0], *HEADS
        ),
        "attention_from_end": Case(
            lambda q, k, v: ops.attention(q, k, v, causal=True, from_end=True)[0], *HEADS
        ),
        "attention_mask": Case(
            lambda q, k, v, m: ops.attention(q, k, v, m)[0], *HEADS, HIDING, fixed=True
        ),
        "attention_mask_of_rows": Case(
            lambda q, k, v: ops.attention(q, k, v, mge.Tensor(real(5, 1)))[0], *HEADS
        ),
        "attention_logarithms": Case(
            lambda q, k, v: ops.attention(q, k, v, mge.Tensor(real(5, 7))), *HEADS
        ),
        "attention_side_by_side": Case(
            lambda q, k, v: ops.attention(q, k, v, side_by_side=True)[0], *SIDE_BY_SIDE
        ),
        "group_norm": Case(lambda x: ops.group_norm(x, weight(8), weight(8), groups=4)[0], IMAGES),
        "group_norm_plain": Case(lambda x: ops.group_norm(x, groups=2)[0], IMAGES),
    }
    | {  # images
        "max_pool2d": Case(lambda x: F.max_pool2d(x, 3, 2, 1), IMAGES),
        "avg_pool2d": Case(lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGES),
        "avg_pool2d_count": Case(
            lambda x: F.avg_pool2d(x, 3, 2, 1, mode="average_count_exclude_padding"), IMAGES
        ),
        "adaptive_avg_pool2d": Case(lambda x: F.adaptive_avg_pool2d(x, (4, 3)), IMAGES),
        "adaptive_max_pool2d": Case(lambda x: F.adaptive_max_pool2d(x, 1), IMAGES),
        "adaptive_max_pool2d_grid": Case(lambda x: F.adaptive_max_pool2d(x, (2, 5)), IMAGES),
        "nms": Case(lambda b, s: ops.nms(b, s, threshold=0.4), BOXES, SCORES, fixed=True),
        "nms_few": Case(
            lambda b, s: ops.nms(b, s, threshold=0.9, max_output=2), BOXES, SCORES, fixed=True
        ),
        "class_nms": Case(
            lambda b, s: ops.class_nms(b, s, overlap_threshold=ONE, score_threshold=ONE),
            BOXES[None],
            np.stack([SCORES, SCORES[::-1]])[None],
            fixed=True,
        ),
        "class_nms_centered": Case(
            lambda b, s: ops.class_nms(b, s, is_centered=True),
            BOXES[None],
            np.stack([SCORES, SCORES[::-1]])[None],
            fixed=True,
        ),
        "unique": Case(ops.unique, whole(9, low=0, high=4), fixed=True),
        "unique_rows": Case(
            lambda x: ops.unique(x, sorted=False), whole(9, 2, low=0, high=2), fixed=True
        ),
        "preprocess": Case(
            lambda x: ops.preprocess(x, mge.Tensor(real(3)), mge.Tensor(real(3))),
            whole(4, 6, 5, 3, low=0, high=255, dtype="uint8"),
        ),
        "preprocess_padded": Case(
            lambda x: ops.preprocess(
                x, mge.Tensor(real(4)), mge.Tensor(real(4)), channels_last=False
            ),
            whole(4, 3, 6, 5, low=0, high=255, dtype="uint8"),
        ),
        "remap": Case(lambda x, g: ops.remap(x, g), IMAGES, GRID, least=16),
        "remap_image": Case(
            lambda x, g: ops.remap(x, g, mge.Tensor([3, 0, 2, 2])),
            IMAGES,
            GRID,
            least=16,
            fixed=True,
        ),
        "remap_nearest": Case(
            lambda x, g: ops.remap(x, g, interpolation="nearest", border="constant"),
            IMAGES,
            GRID,
            least=16,
        ),
        "roi_pool2d": Case(
            lambda x, r: ops.roi_pool2d(x, r, height=2, width=3),
            IMAGES,
            REGIONS,
            fixed=True,
            most=21,
        ),
    }
    | {
        f"remap_{border}": Case(
            lambda x, g, b=border: ops.remap(x, g, border=b, value=0.5), IMAGES, WIDE_GRID, least=16
        )
        for border in ("constant", "replicate", "reflect", "reflect_101")
    }
)


# Functions and the number of their inputs.
SMALL_ARITHMETIC = {
    **{name: (getattr(ops, name), 2) for name in ("add", "sub", "mul", "floor_div", "prelu")},
    **{name: (getattr(ops, name), 1) for name in ("bitwise_not", "square")},
    "add_slice": (lambda x, y: ops.add_slice(x, y, items=[0, 0, 4, 1, 0]), 2),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", CASES)
def test_operator(name, opset, tmp_path):
    case = CASES[name]
    if not case.least <= opset <= case.most:
        pytest.skip(f"for operator sets {case.least} to {case.most}")
    path = str(tmp_path / "op.onnx")
    outputs, model = exported(case.function, case.inputs, path, opset)
    assert_near(run(path, case.inputs), outputs, case.tolerance)
    if not case.fixed:
        assert extents(model.graph.input[0])[0] == "batch"
        other = case.arguments(3)
        expected = arrays(case.function(*map(mge.Tensor, other)))
        assert_near(run(path, other), expected, case.tolerance)


NAN, INF = float("nan"), float("inf")
CORNERS = [NAN, INF, -INF, 0, 1e-30, -1e-10, 1e-7, -3e-4, -0.99, -1, 0.7, 20, 89, 1e30]


@pytest.mark.parametrize("name", ["expm1", "log1p"])
def test_digits_near_zero(name, tmp_path):
    x, path = np.array(CORNERS, "float32"), str(tmp_path / "op.onnx")
    (expected,), _ = exported(getattr(ops, name), [x], path)
    np.testing.assert_allclose(run(path, [x])[0], expected, rtol=2e-6)


def test_logaddexp_of_infinities(tmp_path):
    x, path = np.array(CORNERS, "float32"), str(tmp_path / "op.onnx")
    inputs = np.meshgrid(x, x)
    (expected,), _ = exported(ops.logaddexp, inputs, path)
    np.testing.assert_allclose(run(path, inputs)[0], expected, rtol=2e-6, atol=1e-6)


def test_atan2_of_signed_zeros_and_infinities(tmp_path):
    x, path = np.array([*CORNERS, -0.0], "float32"), str(tmp_path / "op.onnx")
    inputs = np.meshgrid(x, x)
    (expected,), _ = exported(ops.atan2, inputs, path)
    got = run(path, inputs)[0]
    np.testing.assert_allclose(got, expected, rtol=2e-6)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


def test_a_slice_backwards_from_before_the_first_is_empty(tmp_path):
    path = str(tmp_path / "op.onnx")
    outputs, _ = exported(lambda x: x[:, -9::-1], [X], path)
    assert outputs[0].shape == (4, 0, 6, 5)
    assert_near(run(path, [X]), outputs)


def test_scales_along_several_axes_are_refused(tmp_path):
    scale = mge.Tensor(real(4, 6, low=0.1))
    with pytest.raises(RuntimeError, match="scales along several axes"):
        exported(
            lambda x: ops.quantize(x, scale, None, dtype="int8"),
            [real(4, 6)],
            str(tmp_path / "no.onnx"),
        )


def steps(*shape, dtype="int8", low=-100, high=100):
    return whole(*shape, low=low, high=high, dtype=dtype)


def scales(count):
    return mge.Tensor(real(count, low=0.01, high=0.03))


def quantised_conv(x, groups=1, bounds=(0, 0), **how):
    """A convolution of 8 channels with scales by channel; ``how``: its further inputs."""
    shape = (8, 8, 3, 3) if groups == 1 else (groups, 8 // groups, 8 // groups, 3, 3)
    zero = mge.Tensor(np.array(3, "int32"))
    given = {"scale": scales(8), "bias": mge.Tensor(steps(8, dtype="int32")), "y_zero": zero}
    return ops.quantized_conv2d(
        x,
        mge.Tensor(steps(*shape)),
        **given | how,
        y_scale=mge.Tensor(np.array(0.4, "float32")),
        padding=[1, 1],
        groups=groups,
        activation="relu",
        dtype="int8",
        lower=bounds[0],
        upper=bounds[1],
    )


def integer_conv(x, **how):
    """The sums of a convolution of 8 channels, in int32."""
    return ops.quantized_conv2d(
        x, mge.Tensor(steps(8, 8, 3, 2)), stride=[2, 1], padding=[1, 0], dtype="int32", **how
    )


def few_bits(bits, group, zero=False):
    """Steps, scales and zero points of a matrix of 5 rows and 12 columns."""
    groups = -(-12 // group)
    data = steps(5, groups * group * bits // 8, dtype="uint8", low=0, high=255)
    zeros = steps(5, groups, dtype="uint8", low=0, high=2**bits) if zero else None
    scale = real(5, groups, low=0.01, high=0.03)
    return [None if x is None else mge.Tensor(x) for x in (data, scale, zeros)]


def compressed_product(x, bits=8, group=0, activation="none", zero=False):
    return ops.compressed_matmul(
        x,
        *few_bits(bits, group or 12, zero),
        mge.Tensor(real(5)),
        bits=bits,
        group=group,
        activation=activation,
    )


STEP_IMAGES = steps(4, 8, 6, 5)
OTHER = mge.Tensor(np.array(0.02317, "float32"))

QUANTISED = {
    "quantize": Case(lambda x: ops.quantize(x, ONE, dtype="int8"), X),
    "quantize_zero": Case(
        lambda x: ops.quantize(x, ONE, mge.Tensor(np.array(100, "int32")), dtype="uint8"), X
    ),
    "quantize_bounds": Case(lambda x: ops.quantize(x, ONE, dtype="int8", lower=-20, upper=19), X),
    "quantize_channels": Case(
        lambda x: ops.quantize(x, mge.Tensor(real(3, 1, 1, low=0.01, high=0.1)), dtype="int8"), X
    ),
    "quantize_wide": Case(
        lambda x: ops.quantize(x, ONE, mge.Tensor(np.array(5, "int32")), dtype="int32"), X
    ),
    "dequantize": Case(
        lambda x: ops.dequantize(x, ONE, mge.Tensor(np.array(7, "int32"))), STEP_IMAGES
    ),
    "dequantize_sums": Case(lambda x: ops.dequantize(x, ONE), whole(4, 6)),
    "fake_quantize": Case(lambda x: ops.fake_quantize(x, ONE, lower=-20, upper=19), X),
    "fake_quantize_channels": Case(
        lambda x: ops.fake_quantize(
            x,
            mge.Tensor(real(3, 1, 1, low=0.01, high=0.1)),
            mge.Tensor(np.full((3, 1, 1), 90, "float32")),
            lower=0,
            upper=255,
        ),
        X,
    ),
    "map_bytes": Case(
        lambda x: ops.map_bytes(x, mge.Tensor(steps(256, dtype="uint8", low=0, high=255))),
        STEP_IMAGES,
    ),
    "quantized_add": Case(
        lambda a, b: ops.quantized_add(
            a, b, ONE, OTHER, ONE, b_zero=mge.Tensor(np.array(3, "int32")), relu=True, dtype="uint8"
        ),
        STEP_IMAGES,
        STEP_IMAGES,
    ),
    "compressed_matmul": Case(compressed_product, real(4, 3, 12)),
    "compressed_matmul_groups": Case(
        lambda x: compressed_product(x, group=8, activation="gelu"), real(4, 3, 12)
    ),
    "compressed_matmul_4": Case(
        lambda x: compressed_product(x, bits=4, group=8, zero=True), real(4, 3, 12)
    ),
    "compressed_matmul_4_rows": Case(
        lambda x: compressed_product(x, bits=4, zero=True), real(4, 3, 12)
    ),
    "expand_weight": Case(
        lambda x: F.matmul(x, ops.expand_weight(*few_bits(4, 8), columns=12, bits=4, group=8).T),
        real(4, 3, 12),
    ),
    "quantized_conv2d": Case(quantised_conv, STEP_IMAGES),
    "quantized_conv2d_one_scale": Case(lambda x: quantised_conv(x, scale=ONE), STEP_IMAGES),
    "quantized_conv2d_groups": Case(lambda x: quantised_conv(x, groups=4), STEP_IMAGES),
    "quantized_conv2d_bounds": Case(lambda x: quantised_conv(x, bounds=(-7, 7)), STEP_IMAGES),
    "quantized_conv2d_zeros": Case(
        lambda x: quantised_conv(
            x,
            x_zero=mge.Tensor(np.array(120, "int32")),
            weight_zero=mge.Tensor(np.array(-2, "int32")),
        ),
        steps(4, 8, 6, 5, dtype="uint8", low=0, high=255),
    ),
    "integer_conv2d": Case(integer_conv, steps(4, 8, 6, 5, dtype="uint8", low=0, high=255)),
    "integer_conv2d_zeros": Case(
        lambda x: integer_conv(
            x,
            bias=mge.Tensor(steps(8, dtype="int32")),
            x_zero=mge.Tensor(np.array(120, "int32")),
            weight_zero=mge.Tensor(np.array(-2, "int32")),
        ),
        steps(4, 8, 6, 5, dtype="uint8", low=0, high=255),
    ),
    "quantized_conv2d_residual": Case(
        lambda x, r: quantised_conv(
            x,
            residual=r,
            residual_scale=mge.Tensor(np.array(0.1, "float32")),
            residual_zero=mge.Tensor(np.array(-4, "int32")),
        ),
        STEP_IMAGES,
        STEP_IMAGES,
    ),
}


# A scale for each channel came with operator set 13.
CHANNELS = {"quantize_channels", "fake_quantize_channels"} | {
    name for name in QUANTISED if "quantized_conv2d" in name and "one_scale" not in name
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_operator(name, opset, tmp_path):
    case = QUANTISED[name]
    path = str(tmp_path / "op.onnx")
    if opset < 13 and name in CHANNELS:
        with pytest.raises(RuntimeError, match="needs operator set 13, but"):
            exported(case.function, case.inputs, path, opset)
        return
    outputs, model = exported(case.function, case.inputs, path, opset)
    assert extents(model.graph.input[0])[0] == "batch"
    (got,) = run(path, case.inputs)
    assert got.dtype == outputs[0].dtype
    # Halves are rounded otherwise, and sums of real numbers have rounding.
    one_step = 1 if got.dtype in (np.int8, np.uint8) else TOLERANCE
    difference = np.abs(got.astype("float64") - outputs[0])
    assert difference.max() <= one_step and (difference > TOLERANCE).mean() < 0.01


@pytest.mark.parametrize("name", CASES | QUANTISED)
def test_written_and_read_again(name, tmp_path):
    steps_off = 1 if name in QUANTISED else 0
    assert_reads_again((CASES | QUANTISED)[name], str(tmp_path / "again.onnx"), steps_off)


def test_every_operator_of_the_table_is_tested():
    tested = {case.op for case in CASES.values()}
    for case in (CASES | QUANTISED | CONTROL).values():
        traced = trace(case.function, symbolic=True, capture_as_const=True)
        traced(*map(mge.Tensor, case.inputs))
        tested |= set(traced.to_model(traced._arguments, [], {}).operators)
    assert {name for name, _ in _mge.onnx_counterparts()} <= tested


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("name", SMALL_ARITHMETIC)
def test_arithmetic_of_small_integers(name, dtype, tmp_path):
    """Valid in all operator sets.

    ONNX Runtime has none of it where ONNX has, and no Where of int16.
    """
    function, count = SMALL_ARITHMETIC[name]
    inputs = [steps(4, 6, dtype=dtype, low=0, high=127), whole(4, 6, low=1, dtype=dtype)][:count]
    path = str(tmp_path / "op.onnx")
    lacks_where = dtype == "int16" and name in ("floor_div", "prelu")
    for opset in range(18 if name == "bitwise_not" and dtype == "uint8" else 11, 19):
        expected, _ = exported(function, inputs, path, opset)
        if opset < 14 and not lacks_where:
            assert_near(run(path, inputs), expected)


def test_operators_of_later_sets_are_reported(tmp_path):
    with pytest.raises(RuntimeError, match="it needs operator set 16, but 13 is requested"):
        exported(CASES["remap"].function, CASES["remap"].inputs, str(tmp_path / "no.onnx"), 13)


def test_trees_without_onnx_form_are_refused(tmp_path):
    children = TREES[3].numpy().copy()
    children[0] = 1
    shared = [*TREES[:3], mge.Tensor(children), *TREES[4:]]
    with pytest.raises(RuntimeError, match="a node that has two parents"):
        exported(
            lambda x: ops.tree_ensemble(x, *shared, targets=2),
            [real(6, 3)],
            str(tmp_path / "no.onnx"),
        )
