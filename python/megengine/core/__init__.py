# SPDX-License-Identifier: Apache-2.0
"""The foundation of the public packages. It contains neither Tensor classes nor functions."""

from .options import get_option, set_option  # noqa: F401
