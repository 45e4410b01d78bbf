# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.grad``."""

from ...compat.grad import *  # noqa: F403
from ...compat.grad import _grad_manager_dict  # noqa: F401
