# SPDX-License-Identifier: Apache-2.0
"""Tensors of quantised dtypes: the recorded calls, and further properties."""

import copy
import pickle

import numpy as np
import pytest
from oracle import Reader, error_difference, load_submodules, resolve

import megengine as mge
import megengine.functional as F
from megengine import Tensor, jit
from megengine.core.tensor import dtype as D

READER = Reader("quant_calls")
load_submodules()
NOT_FOLLOWED = {
    "F.add/003": "the sum wraps around; it stays in the range of the dtype",
    # Elsewhere the reciprocal of the scale is multiplied with, as here in all modes.
    "F.elemwise._elemwise_multi_type/031": "a tie, in a mode that divides by the scale",
    "F.elemwise._elemwise_multi_type/044": "the same",
}
ROWS = {}
for _row in READER.rows:
    if not _row["fn"].startswith("Q.") and "defect" not in _row:
        ROWS.setdefault(_row["fn"], []).append(_row)


def dtype_of(spec):
    """A dtype from its description."""
    if not isinstance(spec, dict):
        return spec
    name, scale, zero_point = spec["qdtype"]
    return D.create_quantized_dtype(D._builtin_quant_dtypes[name], scale, zero_point)


def decode(spec):
    """The argument that a description stands for."""
    if isinstance(spec, list):
        return [decode(v) for v in spec]
    if not isinstance(spec, dict):
        return spec
    if "meta" in spec:
        return D._builtin_quant_dtypes[spec["meta"]]
    if "qdtype" in spec:
        return dtype_of(spec)
    if "t" in spec:
        return Tensor(READER.array(spec["t"]).astype(dtype_of(spec["dtype"])))
    if "n" in spec:
        return READER.array(spec["n"]).astype(dtype_of(spec["dtype"]))
    if "tuple" in spec:
        return tuple(decode(v) for v in spec["tuple"])
    return slice(*[decode(v) for v in spec["slice"]])


def shown(dtype):
    """A quantised dtype as the recording writes it; None for others."""
    if not D.is_quantize(dtype):
        return None
    about = dict(dtype.metadata["mgb_dtype"])
    zero = f", {about['zero_point']}" if "zero_point" in about else ""
    return f"{about['name']}({about['scale']:.9g}{zero})"


def value_difference(got, want):
    """None, or what differs between a result and its description."""
    if "dtype" in want and "numpy" in want:
        is_same = shown(got) == want["dtype"] and np.dtype(got).name == want["numpy"]
        return None if is_same else f"{got.metadata} instead of {want}"
    if "py" in want:
        return None if got == want["py"] else f"{got!r} instead of {want['py']!r}"
    if "tuple" in want:
        pairs = zip(got, want["tuple"], strict=True)
        return next((text for pair in pairs if (text := value_difference(*pair))), None)
    values = READER.array(want["o" if "o" in want else "array"])
    dtype = want.get("dtype")
    if dtype and dtype[0].isupper() and shown(got.dtype) != dtype:
        return f"{shown(got.dtype)} instead of {dtype}"
    got = got if isinstance(got, np.ndarray) else got.numpy()
    if got.shape != values.shape or got.dtype != values.dtype:
        return f"{got.dtype}{got.shape} instead of {values.dtype}{values.shape}"
    # float16 results are rounded once more here and there.
    same = (
        np.isclose(got, values, rtol=1e-6, equal_nan=True)
        if values.dtype.kind == "f"
        else got == values
    )
    return None if same.all() else f"{got[~same]} instead of {values[~same]}"


def function(path):
    return getattr(D, path[2:]) if path.startswith("D.") else resolve(path)


def row_difference(row):
    """None, or what differs."""
    try:
        args = [decode(a) for a in row["args"]]
        kwargs = {k: decode(v) for k, v in row.get("kwargs", {}).items()}
        got = function(row["fn"])(*args, **kwargs)
    except Exception as error:
        return error_difference(error, row)
    if "error" in row:
        return f"no error, expected {row['error'][2]}"
    return value_difference(got, row["out"])


@pytest.mark.parametrize("name", sorted(ROWS))
def test_call_answers_as_recorded(name):
    texts = {row["id"]: row_difference(row) for row in ROWS[name]}
    wrong = [f"{key}: {text}" for key, text in texts.items() if text and key not in NOT_FOLLOWED]
    assert not wrong, "\n".join(wrong)
    assert all(texts[key] for key in set(NOT_FOLLOWED) & set(texts))


QINT8, QUINT8 = D.qint8(0.5), D.quint8(0.5, 100)


def steps(*values, dtype=QINT8):
    return Tensor(np.array(values, dtype=dtype))


def test_sums_stay_in_range():
    x = steps(-100, 100, 3)
    assert (x + x).tolist() == [-128, 127, 6]
    assert (x - -x).tolist() == [-128, 127, 6]
    assert (-steps(-128)).tolist() == [127]
    assert x.sum().tolist() == 3 and F.sum(steps(100, 100)).tolist() == 127


def test_plain_values_next_to_quantised_ones_are_real_numbers():
    x = steps(1, 2)
    assert (x + 1).tolist() == [3, 4] and (1.0 + x).tolist() == [3, 4]
    assert (x + Tensor([1.0, 2.0])).tolist() == [3, 6]
    assert F.maximum(x, np.float32(1)).tolist() == [2, 2]
    x[0] = 3.5
    assert x.tolist() == [7, 2] and x.dtype.metadata == QINT8.metadata
    x[:] = steps(1, 2, dtype=D.qint8(2.0))
    assert x.tolist() == [4, 8]


def test_changes_in_place_keep_the_dtype():
    x = steps(1, 2)
    x += steps(1, 1)
    assert x.tolist() == [2, 3] and x.dtype.metadata == QINT8.metadata
    x._reset(Tensor([1.5]))
    assert x.dtype == np.float32


def test_constructor_accepts_quantised_integers():
    for data in ([1, 2], [1.9, 2.1], np.array([1, 2], np.int8), steps(1, 2)):
        x = Tensor(data, dtype=QINT8)
        assert x.tolist() == [1, 2] and D.get_scale(x.dtype) == 0.5
    for dtype in ("float32", "int8", D.qint8(0.25)):
        with pytest.raises(RuntimeError, match="use astype"):
            Tensor(x, dtype=dtype)
    assert D.get_scale(Tensor([1], dtype=D.qint8(0.1)).dtype) == np.float32(0.1)


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        mge.Parameter,
        Tensor,
        Tensor.detach,
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: Tensor(x.numpy()),
        lambda x: x.to("cpu1"),
        lambda x: +x,
        lambda x: F.stack([x, x])[1],
        lambda x: F.where(Tensor([True, False]), x, x),
        lambda x: x[Tensor([0, 1])],
        lambda x: F.roll(F.roll(x, 1, 0), 1, 0),
    ],
)
def test_dtype_is_kept(again):
    x = steps(3, 200, dtype=QUINT8)
    y = again(x)
    assert y.tolist() == [3, 200] and y.dtype.metadata == QUINT8.metadata
    assert y.astype("float32").tolist() == [-48.5, 50.0]


def test_saved_and_loaded(tmp_path):
    mge.save({"w": mge.Parameter(steps(1, 2))}, str(tmp_path / "w.pkl"))
    w = mge.load(str(tmp_path / "w.pkl"))["w"]
    assert isinstance(w, mge.Parameter) and w.dtype.metadata == QINT8.metadata


@pytest.mark.parametrize("function", [F.exp, F.softmax, lambda x: x * x, lambda x: x == x, F.dot])
def test_meaningless_calls_raise(function):
    with pytest.raises((RuntimeError, TypeError)) as info:
        function(steps(1, 2)) if function is not F.dot else F.exp(steps(1, 2))
    assert "has no meaning for Tensors of quantised dtypes" in str(info.value)


def test_mismatched_dtypes_are_named():
    with pytest.raises(RuntimeError, match=r"QuantizedS8\(0.5\) and QuantizedS8\(0.25\)"):
        F.concat([steps(1), steps(1, dtype=D.qint8(0.25))])
    with pytest.raises(RuntimeError, match="bool"):
        Tensor([True]).astype(QINT8)
    with pytest.raises(RuntimeError, match="astype"):
        F.zeros((2,), dtype=QINT8)


@pytest.mark.parametrize("options", [{}, {"symbolic": True}, {"without_host": True}])
def test_traced_functions_return_quantised_tensors(options):
    @jit.trace(**({"capture_as_const": True} | options))
    def function(x):
        y = x.astype(QINT8)
        return {"sum": y + y, "real": (y + y).astype("float32")}

    for values in ([0.3, 5.0], [100.0, -9.0]):
        x = Tensor(values)
        result = function(x)
        want = x.astype(QINT8) + x.astype(QINT8)
        assert result["sum"].tolist() == want.tolist()
        assert result["sum"].dtype.metadata == QINT8.metadata
        assert result["real"].tolist() == want.astype("float32").tolist()


def test_descriptions_survive_a_pickle():
    meta = D._builtin_quant_dtypes["qint8"]
    assert pickle.loads(pickle.dumps(meta)) is meta and copy.deepcopy(meta) is meta
    assert D.is_dtype_equal(pickle.loads(pickle.dumps(QUINT8)), QUINT8)
    assert not D.is_dtype_equal(QUINT8, D.quint8(0.5, 99)) and not D.is_dtype_equal(QINT8, "int8")


def test_bits_of_dtypes():
    names = ("qint8", "qint4", "qint32", "Quantized4Asymm", "bfloat16", "float32")
    assert [D.get_dtype_bit(name) for name in names] == [8, 4, 32, 4, 16, 32]
    with pytest.raises(AssertionError, match="number"):
        D.get_dtype_bit("foo")


def test_sums_of_products_are_exact_in_traces():
    rng = np.random.default_rng(1)
    x = steps(*rng.integers(-128, 128, 2000)).reshape(1, 2000)
    weight = steps(*rng.integers(-128, 128, 20000), dtype=D.qint8(0.25)).reshape(10, 2000)
    bias = steps(*rng.integers(-9999, 9999, 10), dtype=D.qint32(0.125))
    want = x.numpy().astype(int) @ weight.numpy().astype(int).T + bias.numpy()
    linear = jit.trace(lambda x: F.linear(x, weight, bias), symbolic=True, capture_as_const=True)
    for got in (F.linear(x, weight, bias), linear(x), linear(x)):
        assert got.tolist() == want.tolist() and shown(got.dtype) == "QuantizedS32(0.125)"


def test_custom_kinds_may_be_unsigned():
    kinds = [D.QuantDtypeMeta("a", None, name, 0, 3) for name in ("int8", "uint8")]
    assert [kind.is_unsigned for kind in kinds] == [False, True]
    assert D.QuantDtypeMeta("a", None, "int8", 0, 3, True).is_unsigned
    for kind in kinds:
        assert copy.deepcopy(kind) is kind and pickle.loads(pickle.dumps(kind)) == kind


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("eq", [True, False, False]),
        ("NEQ", [False, True, True]),
        ("lt", [False, True, False]),
        ("leq", [True, True, False]),
        ("isnan", [False, False, True]),
        ("isinf", [False, False, False]),
    ],
)
def test_queries_of_plain_tensors(mode, expected):
    x, y = Tensor([1.0, 1.0, np.nan]), Tensor([1.0, 2.0, 3.0])
    given = (x,) if mode.startswith("is") else (x, y)
    answer = F.elemwise._elemwise_multi_type(*given, mode=mode, dtype="bool")
    assert answer.dtype == bool and answer.tolist() == expected
    with pytest.raises(RuntimeError, match="answers in bool"):
        F.elemwise._elemwise_multi_type(*given, mode=mode, dtype="float32")


@pytest.mark.parametrize("value, steps", [(1e9, 2**31 - 1), (-1e9, -(2**31)), (2.0, 2000)])
def test_arrays_saturate_at_32_bits(value, steps):
    made = D.convert_to_qint32(np.array([value], "float32"), D.qint32(1e-3))
    assert made.view(np.int32).tolist() == [steps]


@pytest.mark.parametrize("symbolic", [False, True])
def test_batch_convolution_reads_its_bias_in_traces(symbolic):
    chance = np.random.default_rng(0)
    x, w, *biases = (
        Tensor(chance.integers(-3, 3, shape).astype("float32")).astype(dtype)
        for shape, dtype in (
            ((1, 3, 4, 4), D.qint8(1.0)),
            ((1, 2, 3, 3, 3), D.qint8(1.0)),
            ((1, 2, 1, 1), D.qint32(1.0)),
            ((1, 2, 1, 1), D.qint32(1.0)),
        )
    )

    def convolved(bias):
        return F.quantized.batch_conv_bias_activation(x, w, bias, D.qint8(1.0))

    traced = jit.trace(convolved, symbolic=symbolic)
    for bias in (*biases, *biases):
        np.testing.assert_array_equal(traced(bias).numpy(), convolved(bias).numpy())
    assert (convolved(biases[0]).numpy() != convolved(biases[1]).numpy()).any()
