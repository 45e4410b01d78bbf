# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.graph``."""

from ...compat.graph import *  # noqa: F403
from ...compat.graph import _replace_oprs, _replace_vars, _set_priority_to_id  # noqa: F401
