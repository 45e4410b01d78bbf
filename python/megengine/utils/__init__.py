# SPDX-License-Identifier: Apache-2.0
"""Tools around the library."""

from . import custom_op_tools, hook, naming  # noqa: F401
