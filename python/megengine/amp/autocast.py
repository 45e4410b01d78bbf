# SPDX-License-Identifier: Apache-2.0
"""``autocast``: operators in the precision in which they belong."""

import functools
from collections.abc import Callable

from .. import _mge, config


class _Field:
    """One of the three settings that the library keeps per thread."""

    def __init__(self, index: int):
        self._index = index

    def __get__(self, instance, owner=None):
        return _mge.mixed_precision()[self._index]

    def __set__(self, instance, value) -> None:
        fields = list(_mge.mixed_precision())
        fields[self._index] = value
        try:
            _mge.set_mixed_precision(*fields)
        except TypeError as error:
            if isinstance(value, str):  # the name of no dtype: an error as for others, not of NumPy
                raise RuntimeError(f"[autocast] {error}") from error
            raise


class _Settings:
    enabled, low, high = _Field(0), _Field(1), _Field(2)


settings = _Settings()


class autocast:
    """A context, or a decorator, in which operators take floating inputs in fitting dtypes.

    Convolutions, matrix products and the images of batch norms use low precision. Layer and group
    norms, ``log_softmax``, and the elementwise functions that turn integers into floats (``exp``,
    ``log``, ``sqrt``, ``pow``, ``/``, trigonometry …) use high precision. All other operators keep
    their rules, among them ``tanh``, ``sigmoid``, ``silu``, ``gelu`` and ``softmax``. Eager
    operators, tapes and traces treat the conversions as operators, so parameters and gradients keep
    their dtypes. A backward pass casts nothing by itself.

    Args:
        enabled: False has no effect; an outer ``autocast`` stays on.
        low_prec_dtype: ``"float16"`` or ``"bfloat16"``.
        high_prec_dtype: ``"float32"``.
    Raises:
        RuntimeError: on entry, if a dtype is not floating.
    Example:
        >>> x = F.ones((2, 2))
        >>> with autocast():
        ...     y = F.matmul(x, x)
        ...     print(y.dtype, F.exp(y).dtype)
        float16 float32
    """

    def __init__(
        self,
        enabled: bool = True,
        low_prec_dtype: str = "float16",
        high_prec_dtype: str = "float32",
    ):
        self.enabled = enabled
        self.low_prec_dtype = low_prec_dtype
        self.high_prec_dtype = high_prec_dtype
        self._before: list[tuple] = []  # one entry for each time it is entered

    def __enter__(self) -> None:
        if not self.enabled:
            return
        before = _mge.mixed_precision(), config._compute_mode
        _mge.set_mixed_precision(True, self.low_prec_dtype, self.high_prec_dtype)
        self._before.append(before)
        config._compute_mode = "float32"

    def __exit__(self, *args) -> None:
        if not self.enabled:
            return
        precision, config._compute_mode = self._before.pop()
        _mge.set_mixed_precision(*precision)

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with autocast(self.enabled, self.low_prec_dtype, self.high_prec_dtype):
                return func(*args, **kwargs)

        return wrapper
