# SPDX-License-Identifier: Apache-2.0
"""Operators below ``functional``."""

from . import custom  # noqa: F401
