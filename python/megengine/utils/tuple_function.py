# SPDX-License-Identifier: Apache-2.0
"""Converts one number or several to a tuple of a given length."""

import functools
from collections.abc import Iterable


def get_ndtuple(value, *, n: int, allow_zero: bool = True) -> tuple:
    """A tuple of ``n`` numbers.

    Args:
        value: a number, or ``n`` of them.
        n: how many.
        allow_zero: whether a number may be 0.
    Raises:
        AssertionError: there are more or fewer, or one is 0 that must not be.
    Example:
        >>> get_ndtuple(3, n=2)
        (3, 3)
    """
    values = tuple(value) if isinstance(value, Iterable) else (value,) * n
    assert len(values) == n, f"[get_ndtuple] {n} numbers are expected, got {value!r}"
    assert allow_zero or all(values), f"[get_ndtuple] no number may be 0, got {value!r}"
    return values


_single = functools.partial(get_ndtuple, n=1, allow_zero=True)
_pair = functools.partial(get_ndtuple, n=2, allow_zero=True)
_pair_nonzero = functools.partial(get_ndtuple, n=2, allow_zero=False)
_triple = functools.partial(get_ndtuple, n=3, allow_zero=True)
_triple_nonzero = functools.partial(get_ndtuple, n=3, allow_zero=False)
_quadruple = functools.partial(get_ndtuple, n=4, allow_zero=True)
