# SPDX-License-Identifier: Apache-2.0
"""``Tensor`` for annotations on this floor; the class itself is defined above and not imported."""

from typing import TYPE_CHECKING

from .. import _mge

if TYPE_CHECKING:
    Tensor = _mge.PublicTensor
else:
    Tensor = _mge.Tensor
