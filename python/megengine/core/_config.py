# SPDX-License-Identifier: Apache-2.0
"""``megengine.config``, where MegEngine has its definitions."""

from ..config import _override  # noqa: F401
from .options import get_option, set_option  # noqa: F401
