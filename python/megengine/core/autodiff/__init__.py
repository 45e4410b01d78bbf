# SPDX-License-Identifier: Apache-2.0
"""Below ``megengine.autodiff``: a tape without a manager."""
