# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.operators.opdef``."""

from ...operators.opdef import *  # noqa: F403
