# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.tensor_utils``."""

from ...compat.tensor_utils import *  # noqa: F403
from ...compat.tensor_utils import _normalize_axis  # noqa: F401
