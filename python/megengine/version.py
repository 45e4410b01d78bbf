# SPDX-License-Identifier: Apache-2.0
"""The version of MegEngine whose interface this package has, and the version of the engine."""

from . import _mge

# Programs compare it with releases of MegEngine.
__version__ = "1.13.0"
engine_version = _mge.__version__
