# SPDX-License-Identifier: Apache-2.0
"""Tools around the library; each module is imported when somebody first asks for it."""
