# SPDX-License-Identifier: Apache-2.0
"""The foundation that the public packages share. It knows no Tensor class and no function."""

from .options import get_option, set_option  # noqa: F401
