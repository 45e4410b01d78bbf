# SPDX-License-Identifier: Apache-2.0
"""What Tensor's operators are made of, under MegEngine's names."""

from ...functional.elemwise import _elwise  # noqa: F401
