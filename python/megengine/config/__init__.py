# SPDX-License-Identifier: Apache-2.0
"""Settings of the process, as attributes of this module.

``async_level``: when an operator's error is raised. 0: by the call, which waits for the operator; 1
and 2: by the next function that waits (``.numpy()``, ``synchronize``), with the name of the failed
operator. Wrong shapes and dtypes are refused by the call at every level. On a CPU the work is done
when the call returns, so the levels differ only on asynchronous devices. ``benchmark_kernel``: the
algorithm of an operator is the fastest one that supports it, measured when the operator first runs
with such shapes, eagerly and in traces; ``utils.persistent_cache`` describes where the times are
stored. ``deterministic_kernel``: only algorithms with bit-identical results. Both take effect at
the next call. ``_compute_mode``: ``"float32"`` computes products of half precision in single
precision, as every CPU kernel does in both modes. ``_auto_format_convert``: False shows Tensors of
format ``"nhwc"`` in that order, in ``shape`` and ``numpy()``; operators take the axes in the order
of NCHW in both cases. ``disable_memory_forwarding``, ``benchmark_with_subprocess``: no effect;
setting one to True prints a warning.
"""

import contextlib
import functools
import sys
import types
import warnings

from .. import _mge

async_level: int
benchmark_kernel: bool
benchmark_with_subprocess: bool
deterministic_kernel: bool
disable_memory_forwarding: bool
_auto_format_convert: bool
_compute_mode: str

_values = {
    "benchmark_kernel": False,
    "deterministic_kernel": False,
    "benchmark_with_subprocess": False,
    "async_level": 2,
    "disable_memory_forwarding": False,
    "_compute_mode": "default",
    "_auto_format_convert": True,
}

# Settings without an effect here, with the reason.
_without_effect = {
    "disable_memory_forwarding": "views of a tensor share its memory, and writing to one copies",
    "benchmark_with_subprocess": "algorithms are measured in this process",
}


def _set(name: str, value) -> None:
    if name == "async_level":
        assert value in (0, 1, 2), f"[config] async_level must be 0, 1 or 2, got {value!r}"
    if name == "_compute_mode":
        assert value in ("default", "float32"), (
            f"[config] _compute_mode must be 'default' or 'float32', got {value!r}"
        )
    if value and name in _without_effect:
        warnings.warn(
            f"[config] {name} has no effect: {_without_effect[name]}", UserWarning, stacklevel=3
        )
    _values[name] = value
    _apply()


@functools.cache
def _keep_measurements() -> None:
    """Once, when something is to be measured."""
    # The cache imports SQLite, and few programs measure.
    from ..utils.persistent_cache import keep_measurements

    keep_measurements()


def _apply() -> None:
    if _values["benchmark_kernel"]:
        _keep_measurements()
    _mge.set_async_level(_values["async_level"])
    _mge.set_shows_nhwc(not _values["_auto_format_convert"])
    _mge.set_kernel_choice(bool(_values["benchmark_kernel"]), bool(_values["deterministic_kernel"]))


class _Config(types.ModuleType):
    """The module itself, with properties."""

    def __getattr__(self, name: str):
        if name in _values:
            return _values[name]
        raise AttributeError(f"module 'megengine.config' has no attribute {name!r}")

    def __setattr__(self, name: str, value) -> None:
        if name in _values:
            _set(name, value)
        else:
            super().__setattr__(name, value)


@contextlib.contextmanager
def _override(
    benchmark_kernel: bool | None = None,
    deterministic_kernel: bool | None = None,
    async_level: int | None = None,
    compute_mode: str | None = None,
):
    """Temporary settings for a ``with`` block; None leaves a setting unchanged.

    Raises:
        AssertionError: a value is not allowed.
    Example:
        >>> with _override(deterministic_kernel=True):
        ...     pass
    """
    wanted = {
        "benchmark_kernel": benchmark_kernel,
        "deterministic_kernel": deterministic_kernel,
        "async_level": async_level,
        "_compute_mode": compute_mode,
    }
    before = dict(_values)
    try:
        for name, value in wanted.items():
            if value is not None:
                _set(name, value)
        yield
    finally:
        _values.update(before)
        _apply()


sys.modules[__name__].__class__ = _Config
