# SPDX-License-Identifier: Apache-2.0
"""Probability distributions: to draw from, and to ask for densities."""

from .distribution import Distribution
from .exponential import Exponential

__all__ = ["Distribution", "Exponential"]
