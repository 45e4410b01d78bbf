# SPDX-License-Identifier: Apache-2.0
"""Looks at the environment first, so that what is wrong in it is not told by whoever needs it."""

from . import _mge

# Raises ValueError.
_mge.get_threads()
