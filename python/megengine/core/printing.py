# SPDX-License-Identifier: Apache-2.0
"""Printing of Tensors. NumPy's own options are not changed."""

import sys
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

_PROFILES: dict[str, dict[str, int]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 75},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 75},
    "full": {"precision": 4, "threshold": sys.maxsize, "edgeitems": 3, "linewidth": 75},
}
_options = dict(_PROFILES["default"])


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
) -> None:
    """Set how Tensors are printed; None leaves an option unchanged.

    Args:
        precision: number of digits after the point.
        threshold: Tensors with more elements are abbreviated; infinity: no Tensor is.
        edgeitems: number of items shown at each end.
        linewidth: number of characters in a line.
        profile: sets the options that are not given: ``"default"``; ``"short"`` with 2 digits and 2
            items at each end; ``"full"`` without threshold.
    Raises:
        ValueError: there is no such profile, or an option is not a number from 0.
    Example:
        >>> set_printoptions(precision=2)
        >>> Tensor([1 / 3])
        Tensor([0.33], device=xpux:0)
        >>> set_printoptions(profile="default")
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(
            f"[set_printoptions] profile is one of {sorted(_PROFILES)}, got {profile!r}"
        )
    requested = {
        "precision": precision,
        "threshold": sys.maxsize if threshold == float("inf") else threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    given: dict[str, int] = {}
    for name, value in requested.items():
        if value is None:
            continue
        if not isinstance(value, (int, np.integer)) or value < 0:
            raise ValueError(f"[set_printoptions] {name} is a number from 0, got {value!r}")
        given[name] = int(value)
    _options.update(_PROFILES[profile] if profile else {}, **given)


def printing() -> AbstractContextManager[Any]:
    """NumPy printing with these options."""
    options: dict[str, Any] = dict(_options)
    return np.printoptions(**options)
