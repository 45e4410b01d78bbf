# SPDX-License-Identifier: Apache-2.0
"""How algorithms are chosen (experts only): aliases of settings of ``megengine.config``."""

import warnings

from .. import config
from ..core.choices import Strategy


def get_execution_strategy() -> Strategy:
    """Return how algorithms are chosen: HEURISTIC or PROFILE, with REPRODUCIBLE or without.

    Example:
        >>> get_execution_strategy()
        <Strategy.HEURISTIC: 1>
    """
    strategy = Strategy.PROFILE if config.benchmark_kernel else Strategy.HEURISTIC
    return strategy | Strategy.REPRODUCIBLE if config.deterministic_kernel else strategy


def set_execution_strategy(option: str | Strategy) -> None:
    """Choose algorithms otherwise from the next call on.

    Args:
        option: ``"HEURISTIC"``; ``"PROFILE"`` measures and uses the fastest; ``"REPRODUCIBLE"``
            uses reproducible ones only. Names are joined by ``_``, as ``"PROFILE_REPRODUCIBLE"``.
    Raises:
        ValueError: there is no such strategy.
        AssertionError: ``option`` is neither a name nor a Strategy.
    Example:
        >>> set_execution_strategy("HEURISTIC_REPRODUCIBLE")
        >>> set_execution_strategy("HEURISTIC")
    """
    if not isinstance(option, Strategy):
        assert isinstance(option, str), f"[set_execution_strategy] wants a name, got {option!r}"
        wanted = Strategy(0)
        for name in option.split("_"):
            if name not in Strategy.__members__:
                raise ValueError(
                    f"[set_execution_strategy] {name!r} is not one of {list(Strategy.__members__)},"
                    " which may be joined by '_'"
                )
            wanted |= Strategy[name]
        option = wanted
    config.benchmark_kernel = Strategy.PROFILE in option
    config.deterministic_kernel = Strategy.REPRODUCIBLE in option


def get_conv_execution_strategy() -> Strategy:
    """``get_execution_strategy`` (deprecated).

    Example:
        >>> get_conv_execution_strategy()
        <Strategy.HEURISTIC: 1>
    """
    warnings.warn("use get_execution_strategy", DeprecationWarning, 2)
    return get_execution_strategy()


def set_conv_execution_strategy(option: str | Strategy) -> None:
    """``set_execution_strategy`` (deprecated).

    Example:
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     set_conv_execution_strategy("HEURISTIC")
    """
    warnings.warn("use set_execution_strategy", DeprecationWarning, 2)
    set_execution_strategy(option)
