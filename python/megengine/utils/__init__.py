# SPDX-License-Identifier: Apache-2.0
"""Tools around the library; each module is imported on first use."""
