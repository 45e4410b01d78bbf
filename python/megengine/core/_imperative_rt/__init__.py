# SPDX-License-Identifier: Apache-2.0
"""Where MegEngine's extension module has its names: operators, ``apply``, devices.

Code that was written for MegEngine imports them from here; they are defined elsewhere.
"""

from ..ops.opdef import OpDef  # noqa: F401
from . import common, core2, ops, utils  # noqa: F401
from .common import CompNode, bfloat16  # noqa: F401
