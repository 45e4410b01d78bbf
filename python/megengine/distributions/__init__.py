# SPDX-License-Identifier: Apache-2.0
"""Probability distributions: sampling and densities."""

from .distribution import Distribution
from .exponential import Exponential

__all__ = ["Distribution", "Exponential"]
