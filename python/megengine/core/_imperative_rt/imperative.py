# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.imperative``."""

from ...compat.imperative import *  # noqa: F403
