# SPDX-License-Identifier: Apache-2.0
"""Options of the interpreter, under the names that MegEngine has for them.

``async_level`` is that of ``megengine.config``. The others are kept and change nothing: what they
steer in MegEngine (dropping of results, workers of its interpreter) is not there to be steered.
"""

_options = {
    "async_level": 2,
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
    if name not in _options:
        raise RuntimeError(f"[option] there is no option {name!r}; there are {sorted(_options)}")


def get_option(name: str) -> int:
    """The value of an option.

    Raises:
        RuntimeError: there is no such option.
    Example:
        >>> get_option("async_level")
        2
    """
    from .. import config

    _check(name)
    return config.async_level if name == "async_level" else _options[name]


def set_option(name: str, value: int) -> None:
    """Give an option a value, a whole number.

    Raises:
        RuntimeError: there is no such option.
    """
    from .. import config

    _check(name)
    if name == "async_level":
        config.async_level = int(value)
    else:
        _options[name] = int(value)
