# SPDX-License-Identifier: Apache-2.0
"""What may still change."""

from .weight_scaler import get_scaled_model  # noqa: F401
