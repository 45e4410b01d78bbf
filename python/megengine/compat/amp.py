# SPDX-License-Identifier: Apache-2.0
"""The settings of ``megengine.amp``, where MegEngine has their definitions.

``enabled``, ``low_prec_dtype`` and ``high_prec_dtype`` are the settings of the calling thread.
"""

from ..amp.autocast import settings


def _get_amp_dtype_autocast() -> bool:
    """Whether operators get the dtypes that they belong in."""
    return settings.enabled


def _set_amp_dtype_autocast(value: bool) -> bool:
    """Switch automatic casts on or off; returns the previous setting."""
    before, settings.enabled = settings.enabled, bool(value)
    return before


def _get_amp_low_prec_dtype() -> str:
    """The dtype of convolutions and products."""
    return settings.low


def _set_amp_low_prec_dtype(dtype: str) -> str:
    """Choose the dtype of convolutions and products; the one before is returned."""
    before, settings.low = settings.low, dtype
    return before


def _get_amp_high_prec_dtype() -> str:
    """The dtype of operators that need more digits."""
    return settings.high


def _set_amp_high_prec_dtype(dtype: str) -> str:
    """Set the dtype of operators that need more digits; returns the previous one."""
    before, settings.high = settings.high, dtype
    return before


_READERS = {
    "enabled": _get_amp_dtype_autocast,
    "_enabled": _get_amp_dtype_autocast,
    "low_prec_dtype": _get_amp_low_prec_dtype,
    "high_prec_dtype": _get_amp_high_prec_dtype,
}


def __getattr__(name: str):
    if name in _READERS:
        return _READERS[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
