# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.core2``."""

from ...compat.core2 import *  # noqa: F403
from ...compat.core2 import (  # noqa: F401
    _clear_algorithm_cache,
    _get_amp_dtype_autocast,
    _get_amp_high_prec_dtype,
    _get_amp_low_prec_dtype,
    _get_convert_inputs,
    _set_amp_dtype_autocast,
    _set_amp_high_prec_dtype,
    _set_amp_low_prec_dtype,
    _set_convert_inputs,
)
