# SPDX-License-Identifier: Apache-2.0
"""Options of the interpreter, under the names that MegEngine has for them.

``async_level`` and ``disable_memory_forwarding`` are those of ``megengine.config``. The others are
stored without an effect: they control parts of MegEngine's interpreter that do not exist here.
"""

from .. import config

_OF_CONFIG = {"async_level": int, "disable_memory_forwarding": bool}

_options = {
    "enable_drop": 0,
    "max_recompute_time": 1,
    "catch_worker_execption": 1,
    "enable_host_compute": 1,
    "enable_dtr_auto_drop": 0,
    "enable_dtr_sqrt_sampling": 0,
    "dtr_eviction_threshold": 0,
    "dtr_evictee_minimum_size": 1 << 20,
    "record_computing_path": 0,
}


def _check(name: str) -> None:
    known = {**_options, **_OF_CONFIG}
    if name not in known:
        raise RuntimeError(f"[option] there is no option {name!r}; there are {sorted(known)}")


def get_option(name: str) -> int:
    """The value of an option.

    Raises:
        RuntimeError: there is no such option.
    Example:
        >>> get_option("async_level")
        2
    """
    _check(name)
    return int(getattr(config, name)) if name in _OF_CONFIG else _options[name]


def set_option(name: str, value: int) -> None:
    """Set an option to an integer.

    Raises:
        RuntimeError: there is no such option.
    """
    _check(name)
    if name in _OF_CONFIG:
        setattr(config, name, _OF_CONFIG[name](value))
    else:
        _options[name] = int(value)
