# SPDX-License-Identifier: Apache-2.0
"""Below ``megengine.Tensor``: dtypes, indexing, shapes as arguments."""
