# SPDX-License-Identifier: Apache-2.0
"""Complex Tensors from real ones and back.

They support addition, subtraction, multiplication, division, equality, sums, reshaping, indexing
and data movement; all other functions work on their parts.
"""

import numpy as np

from .. import _mge
from ..core.complex_numbers import is_complex, joined, parts
from ..core.operands import Operand, beside
from ..tensor import Tensor


def _floats(who: str, *values: Operand) -> list[Tensor]:
    with beside(*values):
        tensors = [value if isinstance(value, Tensor) else Tensor(value) for value in values]
    for tensor in tensors:
        if is_complex(tensor):
            raise RuntimeError(f"[{who}] takes real parts, got {tensor.dtype}")
    return [t if t.dtype == np.float32 else t.astype("float32") for t in tensors]


def complex(real: Operand, imag: Operand) -> Tensor:
    """Complex numbers of their real and imaginary parts.

    Args:
        real: any shape; becomes float32.
        imag: the same; the two are broadcast.
    Returns:
        complex64 Tensor.
    Raises:
        RuntimeError: a part is complex, or the shapes do not go together.
    Example:
        >>> F.complex(Tensor([1.0, 2.0]), Tensor([0.5, -1.0]))
        Tensor([1.+0.5j 2.-1.j ], dtype=complex64, device=xpux:0)
    """
    real, imag = _floats("complex", real, imag)
    shape = real + imag
    return joined(*(_mge.ops.broadcast_like(part, shape) for part in (real, imag)))


def polar(abs: Operand, angle: Operand) -> Tensor:
    """Complex numbers of their magnitudes and angles.

    Args:
        abs: magnitudes; they become float32.
        angle: angles in radians, the same; the two are broadcast.
    Returns:
        complex64 Tensor.
    Raises:
        RuntimeError: one is complex, or the shapes do not go together.
    Example:
        >>> F.polar(Tensor([2.0]), Tensor([0.0]))
        Tensor([2.+0.j], dtype=complex64, device=xpux:0)
    """
    abs, angle = _floats("polar", abs, angle)
    return joined(abs * _mge.ops.cos(angle), abs * _mge.ops.sin(angle))


def _parts(value: Tensor, who: str) -> tuple[Tensor, Tensor]:
    if not is_complex(value):
        raise RuntimeError(f"[{who}] takes a complex Tensor")
    return parts(value)


def real(complex: Tensor) -> Tensor:
    """The real parts.

    Args:
        complex: complex64, any shape.
    Returns:
        float32 Tensor of that shape.
    Raises:
        RuntimeError: ``complex`` is not a complex Tensor.
    Example:
        >>> F.real(F.complex(Tensor([1.0]), Tensor([2.0])))
        Tensor([1.], device=xpux:0)
    """
    return _parts(complex, "real")[0]


def imag(complex: Tensor) -> Tensor:
    """The imaginary parts; see ``real``.

    Example:
        >>> F.imag(F.complex(Tensor([1.0]), Tensor([2.0])))
        Tensor([2.], device=xpux:0)
    """
    return _parts(complex, "imag")[1]
