# SPDX-License-Identifier: Apache-2.0
"""A learning rate that falls at given epochs."""

from bisect import bisect_right
from collections.abc import Iterable

from .lr_scheduler import LRScheduler
from .optimizer import Optimizer, check_not_negative, is_finite


class MultiStepLR(LRScheduler):
    """Multiplies the learning rates by a factor at each milestone.

    Args:
        optimizer: as in ``LRScheduler``.
        milestones: increasing epochs; a fraction counts as the next whole epoch.
        gamma: the factor.
        current_epoch: as in ``LRScheduler``.
    Raises:
        ValueError: the milestones decrease or are not numbers, or ``gamma`` is not a factor.
    Example:
        >>> opt = SGD([Parameter([1.0])], lr=1.0)
        >>> scheduler = MultiStepLR(opt, [1])
        >>> scheduler.step()
        >>> opt.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[float],
        gamma: float = 0.1,
        current_epoch: int = -1,
    ):
        milestones = list(milestones)
        if not all(map(is_finite, milestones)) or milestones != sorted(milestones):
            raise ValueError(
                f"Milestones should be a list of increasing integers. Got {milestones}"
            )
        check_not_negative(gamma, "Invalid gamma")
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(optimizer, current_epoch)

    def state_dict(self) -> dict:
        """Epoch, milestones and factor.

        Example:
            >>> scheduler = MultiStepLR(SGD([Parameter([1.0])], lr=1.0), [2])
            >>> scheduler.state_dict()
            {'milestones': [2], 'gamma': 0.1, 'current_epoch': 0}
        """
        return {key: self.__dict__[key] for key in ("milestones", "gamma", "current_epoch")}

    def load_state_dict(self, state_dict: dict) -> None:
        """Restore the state from ``state_dict``, including milestones and factor.

        Raises:
            KeyError: one of the three is missing.
        Example:
            >>> scheduler = MultiStepLR(SGD([Parameter([1.0])], lr=1.0), [2])
            >>> scheduler.load_state_dict({"milestones": [1], "gamma": 0.5, "current_epoch": 3})
            >>> scheduler.get_lr()
            [0.5]
        """
        keys = ("milestones", "gamma", "current_epoch")
        for key in keys:
            if key not in state_dict:
                raise KeyError(f"[MultiStepLR] the state to load has no {key!r}")
        super().load_state_dict({key: state_dict[key] for key in keys})

    def get_lr(self) -> list[float]:
        factor = self.gamma ** bisect_right(self.milestones, self.current_epoch)
        return [base * factor for base in self.base_lrs]
