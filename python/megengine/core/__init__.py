# SPDX-License-Identifier: Apache-2.0
"""What the public packages share."""

from .options import get_option, set_option  # noqa: F401
