# SPDX-License-Identifier: Apache-2.0
"""Settings of dynamic tensor rematerialisation, as attributes of this module.

Eager operators keep their results as long as they are referenced, so ``enable`` only prints a
warning; ``jit.trace(dtr_config=…)`` recomputes values to save memory. ``eviction_threshold``,
``evictee_minimum_size``: bytes, given as an int or as a string with a unit (``"5GB"``).
``enable_sqrt_sampling``: a bool.
"""

import re
import sys
import types
import warnings

_values = {
    "eviction_threshold": 0,
    "evictee_minimum_size": 1 << 20,
    "enable_sqrt_sampling": False,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)B", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


def _bytes(value) -> int:
    if isinstance(value, int):
        if value < 0:
            raise TypeError(f"[dtr] a size is not negative, got {value}")
        return int(value)
    if not isinstance(value, str):
        raise TypeError(f"[dtr] a size is an int or a text, got {type(value).__name__}")
    found = _SIZE.fullmatch(value.strip())
    if not found:
        raise ValueError(f"[dtr] a size has the unit B, KB, MB or GB, got {value!r}")
    return int(float(found[1]) * (1 << _UNITS[found[2].upper()]))


def enable() -> None:
    """No effect; prints a warning.

    Example:
        >>> import megengine as mge
        >>> mge.dtr.eviction_threshold = "5GB"
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     mge.dtr.enable()
        >>> "use jit.trace(dtr_config=...)" in str(said[0].message)
        True
        >>> mge.dtr.eviction_threshold = 0
    """
    warnings.warn(
        "[dtr] enable has no effect: operators that run at once keep their results; use"
        " jit.trace(dtr_config=...)",
        UserWarning,
        stacklevel=2,
    )


def disable() -> None:
    """Without effect: it is never enabled.

    Example:
        >>> import megengine as mge
        >>> mge.dtr.disable()
    """


class Settings(types.ModuleType):
    """A module with the settings as attributes."""

    def __getattr__(self, name: str):
        if name in _values:
            return _values[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value) -> None:
        if name not in _values:
            super().__setattr__(name, value)
        elif name == "enable_sqrt_sampling":
            _values[name] = bool(value)
        else:
            _values[name] = _bytes(value)


sys.modules[__name__].__class__ = Settings
