# SPDX-License-Identifier: Apache-2.0
"""How algorithms are chosen (experts only)."""

from ..core.not_available import not_available

_NOT_AVAILABLE = (
    "get_execution_strategy",
    "set_execution_strategy",
    "get_conv_execution_strategy",
    "set_conv_execution_strategy",
)


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
