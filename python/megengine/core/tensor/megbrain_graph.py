# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.megbrain_graph``."""

from ...compat.megbrain_graph import *  # noqa: F403
