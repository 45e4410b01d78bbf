# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.amp``."""

from ...compat.amp import *  # noqa: F403
from ...compat.amp import (  # noqa: F401
    __getattr__,
    _get_amp_dtype_autocast,
    _get_amp_high_prec_dtype,
    _get_amp_low_prec_dtype,
    _set_amp_dtype_autocast,
    _set_amp_high_prec_dtype,
    _set_amp_low_prec_dtype,
)
