# SPDX-License-Identifier: Apache-2.0
"""Pooling of regions with moved parts, as a module."""

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class DeformablePSROIPooling(Module):
    """``functional.deformable_psroi_pooling``; arguments as there.

    Example:
        >>> pool = DeformablePSROIPooling(True, 1, 1, 1, 2, 1.0)
        >>> pool(F.ones((1, 1, 4, 4)), Tensor([[0.0, 1.0, 1.0, 2.0, 2.0]]), F.zeros((1, 2, 1, 1)))
        Tensor([[[[1.]]]], device=xpux:0)
    """

    def __init__(
        self,
        no_trans: bool,
        part_size: int,
        pooled_h: int,
        pooled_w: int,
        sample_per_part: int,
        spatial_scale: float,
        trans_std: float = 0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.no_trans = no_trans
        self.part_size = part_size
        self.pooled_h = pooled_h
        self.pooled_w = pooled_w
        self.sample_per_part = sample_per_part
        self.spatial_scale = spatial_scale
        self.trans_std = trans_std

    def forward(self, inp: Tensor, rois: Tensor, trans: Tensor) -> Tensor:
        cells = (self.part_size, self.pooled_h, self.pooled_w, self.sample_per_part)
        scales = (self.spatial_scale, self.trans_std)
        return F.nn.deformable_psroi_pooling(inp, rois, trans, self.no_trans, *cells, *scales)
