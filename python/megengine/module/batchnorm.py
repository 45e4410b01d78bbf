# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation as modules."""

from abc import abstractmethod

import numpy as np

from .. import functional as F
from ..core.operands import at_least
from ..tensor import Parameter, Tensor
from .init import ones_, zeros_
from .module import Module


class _BatchNorm(Module):
    _state_is_flat = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        freeze: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        at_least(type(self).__name__, 0, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._track_running_stats_saved = track_running_stats  # MegEngine's module computes with it
        self.freeze = freeze
        if freeze:
            assert track_running_stats, (
                f"[{type(self).__name__}] freeze needs track_running_stats, else there is nothing"
                " to normalise with"
            )
        shape = (1, num_features, 1, 1)
        self.weight = Parameter(np.ones(shape, np.float32)) if affine else None
        self.bias = Parameter(np.zeros(shape, np.float32)) if affine else None
        self.running_mean = Tensor(np.zeros(shape, np.float32)) if track_running_stats else None
        self.running_var = Tensor(np.ones(shape, np.float32)) if track_running_stats else None

    def reset_running_stats(self) -> None:
        """Set the running mean to zero and the running variance to one."""
        if self.track_running_stats:
            zeros_(self.running_mean)
            ones_(self.running_var)

    def reset_parameters(self) -> None:
        """Reset statistics, weight and bias."""
        self.reset_running_stats()
        if self.affine:
            ones_(self.weight)
            zeros_(self.bias)

    @abstractmethod
    def _check_input_ndim(self, inp: Tensor) -> None:
        """Raise ValueError for a rank that the module does not take."""

    def forward(self, inp: Tensor) -> Tensor:
        self._check_input_ndim(inp)
        assert self.running_mean is not None or not self.track_running_stats, (
            f"[{type(self).__name__}] made without track_running_stats, so there are no statistics"
        )
        weight, bias = self.weight, self.bias
        if self.freeze and weight is not None:
            weight, bias = weight.detach(), bias.detach()
        training = (self.training and not self.freeze) or not self.track_running_stats
        is_tracked = self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if is_tracked else (None, None)
        settings = {"training": training, "momentum": self.momentum, "eps": self.eps}
        return self._normalise(inp, mean, var, weight, bias, **settings)

    def _normalise(self, *operands, **settings) -> Tensor:
        return F.batch_norm(*operands, **settings)

    def _module_info_string(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over all processes of a group, for inputs of rank 2 and more.

    Args:
        num_features: C.
        eps, momentum, affine, track_running_stats, freeze: as in ``BatchNorm2d``.
        group: the processes that take part, a ``distributed.Group``; None: all.
    Raises:
        TypeError: ``group`` has another type.
    Example:
        >>> SyncBatchNorm(3)(F.ones((2, 3, 4, 4))).shape
        (2, 3, 4, 4)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        freeze: bool = False,
        group=None,
        **kwargs,
    ):
        if group is not None:
            # It imports sockets and multiprocessing, which one process alone never needs.
            from ..distributed import Group

            if not isinstance(group, Group):
                raise TypeError(f"[SyncBatchNorm] group is a Group, got {type(group).__name__}")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, freeze, **kwargs)
        self.group = group

    def _normalise(self, *operands, **settings) -> Tensor:
        return F.sync_batch_norm(*operands, **settings, group=self.group)

    def _check_input_ndim(self, inp: Tensor) -> None:
        if inp.ndim < 2:
            raise ValueError(f"expected an input of at least 2D (got {inp.ndim}D input)")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L); see ``BatchNorm2d``.

    Raises:
        ValueError: the input has another rank.
    Example:
        >>> M.BatchNorm1d(3)(F.ones((4, 3))).shape
        (4, 3)
    """

    def _check_input_ndim(self, inp: Tensor) -> None:
        if inp.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {inp.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W): ``functional.batch_norm`` with its tensors.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of the old running statistics.
        affine: learn a weight and a bias.
        track_running_stats: keep running statistics and use them in evaluation mode.
        freeze: always use the running statistics, and leave all tensors as they are.
    Raises:
        ValueError: the input has another rank.
        AssertionError: ``freeze`` without ``track_running_stats``.
    Example:
        >>> M.BatchNorm2d(3)(F.ones((1, 3, 2, 2))).shape
        (1, 3, 2, 2)
    """

    def _check_input_ndim(self, inp: Tensor) -> None:
        if inp.ndim != 4:
            raise ValueError(f"expected 4D input (got {inp.ndim}D input)")
