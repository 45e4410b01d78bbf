# SPDX-License-Identifier: Apache-2.0
"""How algorithms are chosen (experts only)."""
