# SPDX-License-Identifier: Apache-2.0
"""The version of the package."""

from . import _mge

__version__ = _mge.__version__
