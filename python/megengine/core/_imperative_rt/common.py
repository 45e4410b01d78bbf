# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.common``."""

from ...compat.common import *  # noqa: F403
