# SPDX-License-Identifier: Apache-2.0
"""Quantisation parameters of a tensor: scale, zero point and dtype."""

from enum import Enum
from typing import Any

from ..public_home import set_public_home
from .dtype import QuantDtypeMeta, _builtin_quant_dtypes


class QuantMode(Enum):
    """Whether real zero is the integer 0, or a zero point (with MegEngine's spelling).

    Example:
        >>> QuantMode.SYMMERTIC.name
        'SYMMERTIC'
    """

    SYMMERTIC = 1
    ASYMMERTIC = 2

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The same in every version of Python.
        return type(self), (self.value,)


class QParams:
    """The map from real values to integers: ``round(x / scale) + zero_point``. See
    ``create_qparams``.

    Args:
        mode: a QuantMode: with or without a zero point.
        dtype_meta: the type and range of the integers.
        scale: Tensor, the difference between two neighbouring integers.
        zero_point: Tensor, the integer of 0.0; None in symmetric mode.
    Example:
        >>> from megengine.quantization import create_qparams
        >>> qparams = create_qparams(QuantMode.SYMMERTIC, "qint8", scale=Tensor(0.5))
        >>> qparams.dtype_meta.name, qparams.scale, qparams.zero_point
        ('qint8', Tensor(0.5, device=xpux:0), None)
    """

    __slots__ = ("mode", "dtype_meta", "scale", "zero_point")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, mode: QuantMode, dtype_meta: QuantDtypeMeta | None, scale: Any, zero_point: Any
    ) -> None:
        self.mode = mode
        self.dtype_meta = dtype_meta
        self.scale = scale
        self.zero_point = zero_point

    def update(self, qparams: "QParams") -> None:
        """Take over the four fields of another one.

        Example:
            >>> known = create_qparams()
            >>> known.update(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
            >>> known.scale
            Tensor(0.5, device=xpux:0)
        """
        for field in QParams.__slots__:
            setattr(self, field, getattr(qparams, field))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of its fields, in the order of the arguments.

        Example:
            >>> from megengine.quantization import QParams
            >>> QParams.field_names()
            ('mode', 'dtype_meta', 'scale', 'zero_point')
        """
        slots = (getattr(base, "__slots__", ()) for base in cls.__mro__[::-1])
        return tuple(name for names in slots for name in names)

    def _fields(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.field_names()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QParams):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return mine.keys() == theirs.keys() and all(mine[k] == theirs[k] for k in mine)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._fields().values())

    def __repr__(self) -> str:
        return f"QParams({', '.join(f'{k}={v}' for k, v in self._fields().items())})"


class LSQParams(QParams):
    """``QParams`` with the factor that the gradient of a learned scale takes.

    Args:
        mode, dtype_meta, scale, zero_point: as of ``QParams``.
        grad_scale: Tensor, the factor.
    Example:
        >>> from megengine.quantization import LSQ
        >>> type(LSQ("qint8").get_qparams()).__name__
        'LSQParams'
    """

    __slots__ = ("grad_scale",)

    def __init__(
        self, mode: Any, dtype_meta: Any, scale: Any, zero_point: Any, grad_scale: Any
    ) -> None:
        super().__init__(mode, dtype_meta, scale, zero_point)
        self.grad_scale = grad_scale

    def update(self, qparams: QParams) -> None:
        """Take over the fields of another one; the factor of one that has it."""
        super().update(qparams)
        self.grad_scale = getattr(qparams, "grad_scale", self.grad_scale)


set_public_home("megengine.quantization.utils", QuantMode, QParams, LSQParams)


def quant_dtype_meta(dtype: str | QuantDtypeMeta) -> QuantDtypeMeta:
    """The description of a quantised dtype.

    Args:
        dtype: its name, or the description itself.
    Returns:
        The description.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> quant_dtype_meta("qint8").qmin
        -128
    """
    if isinstance(dtype, QuantDtypeMeta):
        return dtype
    if dtype not in _builtin_quant_dtypes:
        raise ValueError(f"unknown dtype: {dtype}, only support {[*_builtin_quant_dtypes]}")
    return _builtin_quant_dtypes[dtype]


def create_qparams(
    mode: QuantMode = QuantMode.SYMMERTIC,
    dtype_meta: str | QuantDtypeMeta | None = None,
    scale: Any = None,
    zero_point: Any = None,
) -> QParams:
    """``QParams`` of a dtype that may be given by its name.

    Args:
        mode: a QuantMode: with or without a zero point.
        dtype_meta: for example ``"qint8"``.
        scale: Tensor.
        zero_point: Tensor; None in symmetric mode.
    Returns:
        The ``QParams``.
    Raises:
        KeyError: there is no dtype of that name.
        AssertionError: the mode is not a ``QuantMode``.
    Example:
        >>> create_qparams(dtype_meta="qint8", scale=Tensor(0.5)).dtype_meta.qmax
        127
    """
    assert isinstance(mode, QuantMode), f"[create_qparams] mode is a QuantMode, got {mode!r}"
    if isinstance(dtype_meta, str):
        dtype_meta = _builtin_quant_dtypes[dtype_meta]
    return QParams(mode, dtype_meta, scale, zero_point)
