# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision: products in half precision, sensitive operators in float32.

``enabled``, ``low_prec_dtype`` and ``high_prec_dtype`` are the settings of the calling thread; they
can be set, but ``autocast`` puts them back.
"""

import sys
import types

from .autocast import autocast, settings
from .convert_format import convert_module_format, convert_tensor_format
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "convert_module_format", "convert_tensor_format"]


class _Amp(types.ModuleType):
    """The module itself, with properties."""

    @property
    def enabled(self) -> bool:
        """Whether operators get the dtypes they belong in."""
        return settings.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        settings.enabled = value

    @property
    def low_prec_dtype(self) -> str:
        """The dtype of convolutions, products and batch norms."""
        return settings.low

    @low_prec_dtype.setter
    def low_prec_dtype(self, value: str) -> None:
        settings.low = value

    @property
    def high_prec_dtype(self) -> str:
        """The dtype of operators that exceed the range of half precision or need more digits."""
        return settings.high

    @high_prec_dtype.setter
    def high_prec_dtype(self, value: str) -> None:
        settings.high = value


sys.modules[__name__].__class__ = _Amp
