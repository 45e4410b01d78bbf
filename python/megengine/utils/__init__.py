# SPDX-License-Identifier: Apache-2.0
"""Tools around the library."""

from . import hook, naming  # noqa: F401
