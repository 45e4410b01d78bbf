# SPDX-License-Identifier: Apache-2.0
"""Empty, as in MegEngine 1.13: its names are in ``core2``."""
