# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.array_method``."""

from ...compat.array_method import *  # noqa: F403
from ...compat.array_method import _elwise, _elwise_apply, _matmul, _reduce  # noqa: F401
