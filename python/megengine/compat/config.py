# SPDX-License-Identifier: Apache-2.0
"""``megengine.config``, where MegEngine has its definitions."""

from .. import config
from ..config import _override  # noqa: F401
from ..core.options import get_option, set_option  # noqa: F401


def get_auto_format_convert() -> bool:
    """``config._auto_format_convert``."""
    return config._auto_format_convert


def set_auto_format_convert(option: bool) -> None:
    """Set ``config._auto_format_convert``."""
    config._auto_format_convert = option


def _clear_algorithm_cache() -> None:
    """Clear the choices of algorithms. No effect: they are made per call and not kept."""


def __getattr__(name: str):
    if name in config._values:
        return config._values[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
