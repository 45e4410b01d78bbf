# SPDX-License-Identifier: Apache-2.0
"""Functions that may still change."""

from .weight_scaler import get_scaled_model  # noqa: F401
