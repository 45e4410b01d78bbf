# SPDX-License-Identifier: Apache-2.0
"""Checks the environment on import, so that a wrong setting is reported here and not by its
first user."""

from . import _mge

# Raises ValueError.
_mge.get_threads()
