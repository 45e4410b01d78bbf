# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change with the epoch."""

from .optimizer import Optimizer


class LRScheduler:
    """Base of the schedulers. Making one takes the first step, to epoch ``current_epoch + 1``.

    Args:
        optimizer: the Optimizer whose learning rates change; each group gets ``"initial_lr"``.
        current_epoch: last finished epoch; -1 to start.
    Raises:
        TypeError: ``optimizer`` is not an Optimizer.
        KeyError: a group has no ``"initial_lr"`` when resuming.
    Example:
        >>> from megengine.optimizer import MultiStepLR
        >>> optimizer = SGD(M.Linear(2, 1).parameters(), lr=1.0)
        >>> scheduler = MultiStepLR(optimizer, [1], gamma=0.1)
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """

    def __init__(self, optimizer: Optimizer, current_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"optimizer argument given to the lr_scheduler should be Optimizer,"
                f" got {type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        self.current_epoch = current_epoch
        for k, group in enumerate(optimizer.param_groups):
            if current_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming an"
                    " optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def state_dict(self) -> dict:
        """The state of the scheduler without the optimizer.

        Example:
            >>> from megengine.optimizer import MultiStepLR
            >>> optimizer = SGD(M.Linear(2, 1).parameters(), lr=1.0)
            >>> scheduler = MultiStepLR(optimizer, [2])
            >>> scheduler.state_dict()
            {'milestones': [2], 'gamma': 0.1, 'current_epoch': 0}
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        """Restore the state from ``state_dict``.

        Example:
            >>> from megengine.optimizer import MultiStepLR
            >>> optimizer = SGD(M.Linear(2, 1).parameters(), lr=1.0)
            >>> scheduler = MultiStepLR(optimizer, [2])
            >>> state = scheduler.state_dict()
            >>> scheduler.step()
            >>> scheduler.load_state_dict(state)
            >>> scheduler.current_epoch
            0
        """
        self.__dict__.update(state_dict)

    def get_lr(self) -> list[float]:
        """The learning rate of each group at the current epoch.

        Example:
            >>> class Halving(LRScheduler):
            ...     def get_lr(self):
            ...         return [lr / 2**self.current_epoch for lr in self.base_lrs]
            >>> scheduler = Halving(SGD([Parameter([1.0])], lr=1.0))
            >>> scheduler.step()
            >>> scheduler.get_lr()
            [0.5]
        """
        raise NotImplementedError(f"[{type(self).__name__}] get_lr is not defined")

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to a given one, and set the learning rates.

        Example:
            >>> from megengine.optimizer import MultiStepLR
            >>> optimizer = SGD(M.Linear(2, 1).parameters(), lr=1.0)
            >>> scheduler = MultiStepLR(optimizer, [2])
            >>> scheduler.step(5)
            >>> scheduler.current_epoch, optimizer.param_groups[0]["lr"]
            (5, 0.1)
        """
        self.current_epoch = self.current_epoch + 1 if epoch is None else epoch
        # Groups that were added later keep their learning rates.
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=False):
            group["lr"] = lr
