# SPDX-License-Identifier: Apache-2.0
"""Dynamic tensor rematerialisation: the settings of ``dtr.dtr``."""

import sys

from .dtr import Settings, disable, enable

__all__ = ["disable", "enable"]

sys.modules[__name__].__class__ = Settings
