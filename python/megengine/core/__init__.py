# SPDX-License-Identifier: Apache-2.0
"""What the public packages share."""
