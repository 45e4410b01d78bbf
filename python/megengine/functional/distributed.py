# SPDX-License-Identifier: Apache-2.0
"""``megengine.distributed.functional`` under its other name."""

from ..distributed.functional import *  # noqa: F403
from ..distributed.functional import __all__  # noqa: F401
