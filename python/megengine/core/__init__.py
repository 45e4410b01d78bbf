# SPDX-License-Identifier: Apache-2.0
"""The foundation that the public packages share. It knows no Tensor class and no function."""
