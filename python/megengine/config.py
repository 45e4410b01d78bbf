# SPDX-License-Identifier: Apache-2.0
"""Settings of the process, as attributes of this module.

``async_level``: when an error of an operator comes out. 0: at the call, because each operator is
waited for; 1 and 2: where somebody waits (``.numpy()``, ``synchronize``), with the name of the
operator that failed. Wrong shapes and dtypes are refused by the call at every level. Of a CPU the
work is done when the call returns, so there the levels are alike; they differ on devices that work
later than they are asked to. ``benchmark_kernel``: the algorithm of an operator is the fastest of
those that can do it, measured when the operator first meets such shapes, for operators that run
at once and in traces; ``utils.persistent_cache`` tells where the times are kept.
``deterministic_kernel``: only algorithms that give the same bits each time. Both act from the next
call on. ``_compute_mode``: ``"float32"`` computes products of half precision in single precision,
which every kernel of a CPU does in both modes. ``disable_memory_forwarding``,
``benchmark_with_subprocess``, ``_auto_format_convert``: without effect, which a warning says when
one is set to True.
"""

import contextlib
import functools
import sys
import types
import warnings

from . import _mge

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
    "_auto_format_convert": False,
}

# Settings that change nothing here, and why.
_without_effect = {
    "disable_memory_forwarding": "views of a tensor share its memory, and writing to one copies",
    "benchmark_with_subprocess": "algorithms are measured in this process",
    "_auto_format_convert": "layouts are chosen where graphs are compiled",
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
    from .utils.persistent_cache import keep_measurements

    keep_measurements()


def _apply() -> None:
    if _values["benchmark_kernel"]:
        _keep_measurements()
    _mge.set_async_level(_values["async_level"])
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
    """Other settings inside of a ``with`` block; None leaves one as it is.

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
