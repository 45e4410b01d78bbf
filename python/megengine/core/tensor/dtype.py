# SPDX-License-Identifier: Apache-2.0
"""The dtypes of Tensors, among them those that NumPy does not have.

bfloat16 is a dtype of this package. The quantised dtypes are NumPy dtypes with metadata
``mgb_dtype``: integer dtypes whose values, the steps, represent ``(step - zero_point) * scale``.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import _mge

bfloat16 = _mge.bfloat16
# Odd numbers, of -1 to 1, -3 to 3 and -15 to 15.
intb1, intb2, intb4 = (_mge.low_bit_dtype(bits) for bits in (1, 2, 4))

_NAMES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32")


def checked_dtype(dtype: Any) -> Any:
    """A dtype that Tensors can have.

    Args:
        dtype: name, NumPy dtype or type.
    Returns:
        The dtype for operators.
    Raises:
        ValueError: it is not a dtype.
        RuntimeError: Tensors do not support it.
    Example:
        >>> checked_dtype(np.float32)
        'float32'
    """
    if type(dtype) is str and dtype in _NAMES:  # nearly always, and NumPy takes long for names
        return dtype
    if is_bfloat16(dtype):
        return "bfloat16"
    if is_quantize(dtype):
        raise RuntimeError("[dtype] Tensors of quantised dtypes are made by Tensor() and astype")
    if isinstance(dtype, (list, tuple, dict)):
        raise ValueError(f"[dtype] a {type(dtype).__name__} is not a dtype of Tensors")
    try:
        name = np.dtype(dtype).name
    except TypeError as error:
        raise ValueError(f"[dtype] {dtype!r} is not a dtype: {error}") from None
    if name not in _NAMES:
        raise RuntimeError(f"[dtype] Tensors cannot have {name}; allowed are {_NAMES} and bfloat16")
    return name


def is_complex(dtype: Any) -> bool:
    """Whether a dtype is complex.

    Args:
        dtype: name, NumPy dtype or type.
    Example:
        >>> is_complex("complex64"), is_complex(np.float32)
        (True, False)
    """
    return dtype is complex or dtype == "complex64" or dtype is np.complex64


def get_dtype_bit(dtype_name: str) -> int:
    """Bits of one element.

    Args:
        dtype_name: for example ``"float32"``.
    Returns:
        The number of bits.
    Raises:
        AssertionError: the name contains no number, or several.
    Example:
        >>> get_dtype_bit("float32"), get_dtype_bit("qint4")
        (32, 4)
    """
    numbers = re.findall(r"\d+", dtype_name)
    assert len(numbers) == 1, (
        f"[get_dtype_bit] {dtype_name!r} does not contain exactly one number of bits"
    )
    return int(numbers[0])


def is_bfloat16(dtype: Any) -> bool:
    """Whether a dtype is bfloat16.

    Example:
        >>> is_bfloat16(bfloat16)
        True
    """
    if isinstance(dtype, str):
        return dtype == "bfloat16"
    if isinstance(dtype, np.dtype):
        return bool(dtype.num == bfloat16.num)  # both byte orders have the number
    return dtype is bfloat16.type


def is_integer(dtype: Any) -> bool:
    """Whether values of a dtype are integers; False for bool and bfloat16.

    Example:
        >>> is_integer("uint8"), is_integer(bfloat16)
        (True, False)
    """
    return not is_bfloat16(dtype) and np.dtype(dtype).kind in "iu"


def is_differentible_dtype(dtype: Any) -> bool:
    """Whether gradients flow through values of a dtype: the floating ones.

    Example:
        >>> is_differentible_dtype("int32")
        False
    """
    return is_bfloat16(dtype) or np.issubdtype(np.dtype(dtype), np.floating)


def is_dtype_equal(dtype1: Any, dtype2: Any) -> bool:
    """Whether two dtypes are the same, scales and zero points included.

    Example:
        >>> is_dtype_equal("float32", np.float32)
        True
        >>> is_dtype_equal(qint8(0.5), qint8(0.25))
        False
    """
    if is_bfloat16(dtype1) or is_bfloat16(dtype2):
        return is_bfloat16(dtype1) and is_bfloat16(dtype2)
    return np.dtype(dtype1) == np.dtype(dtype2) and _about(dtype1) == _about(dtype2)


def is_lowbit(dtype: Any) -> bool:
    """Whether a dtype is one of intb1, intb2 and intb4.

    Example:
        >>> is_lowbit(intb2), is_lowbit("float32")
        (True, False)
    """
    return dtype is intb1 or dtype is intb2 or dtype is intb4


# By name. Equal dtypes are one object, so that `is` holds after a pickle round trip.
_builtin_quant_dtypes: dict[str, "QuantDtypeMeta"] = {}


class _Meta(NamedTuple):
    name: str
    cname: str | None
    np_dtype_str: str
    qmin: int
    qmax: int
    is_unsigned: bool


class QuantDtypeMeta(_Meta):
    """The common properties of all quantised dtypes of a type.

    Args:
        name: for example ``"qint8"``.
        cname: its name in the metadata of dtypes; None: Tensors do not support it.
        np_dtype_str: the NumPy dtype of the steps.
        qmin: smallest step.
        qmax: largest step.
        is_unsigned: whether it has a zero point; None: only if its steps are unsigned.
    Example:
        >>> three_bits = QuantDtypeMeta("qint3", None, "int8", qmin=-4, qmax=3)
        >>> from megengine.quantization import FakeQuantize, create_qparams
        >>> qparams = create_qparams(dtype_meta=three_bits, scale=Tensor(1.0))
        >>> FakeQuantize(three_bits)(Tensor([0.4, 2.6, 8.0]), qparams)
        Tensor([0. 3. 3.], device=xpux:0)
    """

    __slots__ = ()

    def __new__(
        cls,
        name: str,
        cname: str | None,
        np_dtype_str: str,
        qmin: int,
        qmax: int,
        is_unsigned: bool | None = None,
    ) -> "QuantDtypeMeta":
        if is_unsigned is None:
            is_unsigned = np_dtype_str[0] == "u"
        made = super().__new__(cls, name, cname, np_dtype_str, qmin, qmax, is_unsigned)
        known = _builtin_quant_dtypes.get(name)
        return known if known == made else made

    def __copy__(self) -> "QuantDtypeMeta":
        return self

    def __deepcopy__(self, memo: Any) -> "QuantDtypeMeta":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)


def _meta(name: str, cname: str | None, np_dtype_str: str, qmin: int, qmax: int) -> QuantDtypeMeta:
    return QuantDtypeMeta(name, cname, np_dtype_str, qmin, qmax)


_meta_of = QuantDtypeMeta  # files of earlier versions name it

_builtin_quant_dtypes.update(
    (meta.name, meta)
    for meta in (
        _meta("quint8", "Quantized8Asymm", "uint8", 0, 255),
        _meta("qint8", "QuantizedS8", "int8", -128, 127),
        _meta("qint8_narrow", "QuantizedS8", "int8", -127, 127),
        _meta("quint4", "Quantized4Asymm", "uint8", 0, 15),
        _meta("qint4", "QuantizedS4", "int8", -8, 7),
        _meta("qint1", "QuantizedS1", "int8", 0, 1),
        _meta("qint32", "QuantizedS32", "int32", -(2**31), 2**31 - 1),
        _meta("quint2", None, "uint8", 0, 3),
        _meta("qint2", None, "int8", -2, 1),
    )
)

# By the name in the metadata; for duplicates the one with the full range.
_METAS = {meta.cname: meta for meta in reversed(_builtin_quant_dtypes.values()) if meta.cname}


def _about(dtype: Any) -> dict[str, Any] | None:
    """The metadata of a quantised dtype; None for other dtypes."""
    metadata = getattr(dtype, "metadata", None)
    about = metadata.get("mgb_dtype") if metadata else None
    return about if about and about["name"] in _METAS else None


def quantised_meta(dtype: Any) -> QuantDtypeMeta | None:
    """The type of a quantised dtype; None for other dtypes.

    Example:
        >>> quantised_meta(qint8(0.5)).qmax
        127
    """
    about = _about(dtype)
    return _METAS[about["name"]] if about else None


def is_quantize(dtype: Any) -> bool:
    """Whether a dtype is a quantised one.

    Example:
        >>> is_quantize(qint8(0.5)), is_quantize("int8")
        (True, False)
    """
    return _about(dtype) is not None


def get_scale(dtype: Any) -> float:
    """The real number that one step of a quantised dtype is.

    Raises:
        RuntimeError: ``dtype`` is not quantised.
    Example:
        >>> get_scale(qint8(0.5))
        0.5
    """
    about = _about(dtype)
    if about is None:
        raise RuntimeError(f"[get_scale] expected a quantised dtype, got {dtype}")
    return float(about["scale"])


def get_zero_point(dtype: Any) -> int:
    """The step of a quantised dtype that represents 0.

    Raises:
        RuntimeError: ``dtype`` is not quantised, or symmetric: its zero point is always 0.
    Example:
        >>> get_zero_point(quint8(0.5, 128))
        128
    """
    about = _about(dtype)
    if about is None or "zero_point" not in about:
        name = about["name"] if about else dtype
        raise RuntimeError(
            f"[get_zero_point] expected Quantized8Asymm or Quantized4Asymm, got {name}"
        )
    return int(about["zero_point"])


def _checked_zero_point(zero_point: Any, meta: QuantDtypeMeta) -> int:
    is_number = hasattr(zero_point, "__int__") and not isinstance(zero_point, str)
    if not is_number or int(zero_point) != zero_point:
        raise ValueError(f"zero_point should be an integer, got {zero_point!r}")
    if not meta.qmin <= zero_point <= meta.qmax:
        raise ValueError(
            f"zero_point should be within [{meta.qmin}, {meta.qmax}] for {meta.name},"
            f" got {zero_point}"
        )
    return int(zero_point)


def create_quantized_dtype(dtype_meta: QuantDtypeMeta, scale: Any, zp: Any = None) -> np.dtype:
    """A quantised dtype.

    Args:
        dtype_meta: its type.
        scale: the size of a step: a number or a one-element Tensor.
        zp: the step that represents 0; None for symmetric types.
    Returns:
        NumPy dtype of the steps, with the metadata ``mgb_dtype``.
    Raises:
        ValueError: ``zp`` is missing, not an integer, out of range, or given for a symmetric type;
            or Tensors do not support this type.
    Example:
        >>> create_quantized_dtype(_builtin_quant_dtypes["qint8"], 0.5).metadata["mgb_dtype"]
        {'name': 'QuantizedS8', 'scale': 0.5}
    """
    if dtype_meta.cname is None:
        raise ValueError(f"[create_quantized_dtype] no Tensor can have the dtype {dtype_meta.name}")
    about = {"name": dtype_meta.cname, "scale": float(scale)}
    if dtype_meta.is_unsigned:
        about["zero_point"] = _checked_zero_point(zp, dtype_meta)
    elif zp is not None:
        raise ValueError(
            f"{dtype_meta.name!r} only supports symmetric quantization, zero_point should be None,"
            f" but actually got {zp!r}"
        )
    return np.dtype(dtype_meta.np_dtype_str, metadata={"mgb_dtype": about})


def quantised_dtype_of(cname: str, scale: float, zp: int | None) -> np.dtype:
    """The quantised dtype by the name in its metadata.

    Raises:
        ValueError: there is no dtype of that name, or the zero point does not fit it.
    Example:
        >>> quantised_dtype_of("QuantizedS8", 0.5, None) == qint8(0.5)
        True
    """
    if cname not in _METAS:
        raise ValueError(f"there is no quantised dtype {cname!r}")
    return create_quantized_dtype(_METAS[cname], scale, zp)


def quint8(scale: Any, zero_point: Any) -> np.dtype:
    """Steps of 0 to 255; see ``create_quantized_dtype``.

    Example:
        >>> get_zero_point(quint8(0.5, 3))
        3
    """
    return create_quantized_dtype(_builtin_quant_dtypes["quint8"], scale, zero_point)


def qint8(scale: Any) -> np.dtype:
    """Steps of -128 to 127; see ``create_quantized_dtype``.

    Example:
        >>> get_scale(qint8(0.5))
        0.5
    """
    return create_quantized_dtype(_builtin_quant_dtypes["qint8"], scale)


def qint32(scale: Any) -> np.dtype:
    """Steps of 32 bits: sums of products, biases; see ``create_quantized_dtype``.

    Example:
        >>> get_scale(qint32(0.5))
        0.5
    """
    return create_quantized_dtype(_builtin_quant_dtypes["qint32"], scale)


def quint4(scale: Any, zero_point: Any) -> np.dtype:
    """Steps of 0 to 15, a byte each; see ``create_quantized_dtype``.

    Example:
        >>> get_zero_point(quint4(0.5, 3))
        3
    """
    return create_quantized_dtype(_builtin_quant_dtypes["quint4"], scale, zero_point)


def qint4(scale: Any) -> np.dtype:
    """Steps of -8 to 7, a byte each; see ``create_quantized_dtype``.

    Example:
        >>> get_scale(qint4(0.5))
        0.5
    """
    return create_quantized_dtype(_builtin_quant_dtypes["qint4"], scale)


def qint1(scale: Any) -> np.dtype:
    """Steps of 0 and 1, a byte each; see ``create_quantized_dtype``.

    Example:
        >>> get_scale(qint1(0.5))
        0.5
    """
    return create_quantized_dtype(_builtin_quant_dtypes["qint1"], scale)


def _check_kind(dtype: Any, name: str, what: str) -> None:
    meta = _builtin_quant_dtypes[name]
    about = _about(dtype)
    if about is None or about["name"] != meta.cname:
        raise ValueError(f"{what} should be a {meta} dtype, got {dtype}")


def _convert_to(arr: Any, q: Any, name: str) -> np.ndarray:
    """Real numbers as steps; ties go to the even one, as ``numpy.round`` has it."""
    if not isinstance(arr, np.ndarray):
        raise ValueError("arr parameter should be instance of np.ndarray")
    _check_kind(q, name, "dtype parameter")
    meta = _builtin_quant_dtypes[name]
    # float32 has no 2**31 - 1, the largest step of 32 bits.
    steps = np.round(arr / q.metadata["mgb_dtype"]["scale"]).astype(np.float64)
    steps = np.clip(steps + q.metadata["mgb_dtype"].get("zero_point", 0), meta.qmin, meta.qmax)
    return np.where(np.isnan(steps), meta.qmin, steps).astype(q)


def _convert_from(arr: Any, name: str) -> np.ndarray:
    """The float32 numbers that steps represent."""
    if not isinstance(arr, np.ndarray):
        raise ValueError("arr parameter should be instance of np.ndarray")
    _check_kind(arr.dtype, name, "arr's dtype")
    about = arr.dtype.metadata["mgb_dtype"]
    steps = arr.astype(np.float32) - about.get("zero_point", 0)
    return np.asarray(steps * about["scale"], np.float32)


def _converters(
    kind: str, dtype: str, steps: list[int]
) -> tuple[Callable[[np.ndarray, np.dtype], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Makes the two functions between real numbers and the steps of a kind.

    Args:
        kind: its name.
        dtype: one of this kind, for the examples.
        steps: its steps for 0.5 and -0.5.
    """

    def convert_to(arr: np.ndarray, q: np.dtype) -> np.ndarray:
        return _convert_to(arr, q, kind)

    def convert_from(arr: np.ndarray) -> np.ndarray:
        return _convert_from(arr, kind)

    real = [0.5, -0.5 if kind != "qint1" else 0.0]
    convert_to.__doc__ = f"""Real numbers as steps of a {kind} dtype.

    Args:
        arr: numbers.
        q: the dtype.
    Returns:
        Array of that dtype; ties go to the even step, what is out of range to the nearest one.
    Raises:
        ValueError: ``arr`` is no array, or ``q`` another dtype.
    Example:
        >>> convert_to_{kind}(np.array([0.5, -0.5], np.float32), {dtype}).tolist()
        {steps}
    """
    convert_from.__doc__ = f"""The real numbers of a {kind} array.

    Args:
        arr: steps.
    Returns:
        float32 array.
    Raises:
        ValueError: ``arr`` is no array, or of another dtype.
    Example:
        >>> convert_from_{kind}(np.array({steps}, dtype={dtype})).tolist()
        {real}
    """
    convert_to.__name__ = convert_to.__qualname__ = f"convert_to_{kind}"
    convert_from.__name__ = convert_from.__qualname__ = f"convert_from_{kind}"
    return convert_to, convert_from


convert_to_quint8, convert_from_quint8 = _converters("quint8", "quint8(0.5, 2)", [3, 1])
convert_to_qint8, convert_from_qint8 = _converters("qint8", "qint8(0.5)", [1, -1])
convert_to_qint32, convert_from_qint32 = _converters("qint32", "qint32(0.5)", [1, -1])
convert_to_quint4, convert_from_quint4 = _converters("quint4", "quint4(0.5, 2)", [3, 1])
convert_to_qint4, convert_from_qint4 = _converters("qint4", "qint4(0.5)", [1, -1])
convert_to_qint1, convert_from_qint1 = _converters("qint1", "qint1(0.5)", [1, 0])
