# SPDX-License-Identifier: Apache-2.0
"""``GradScaler``: a scale that keeps gradients within the range of half precision."""

from collections.abc import Iterable

from ..autodiff import GradManager
from ..functional import full_like
from ..functional.math import _check_non_finite
from ..tensor import Tensor


class GradScaler:
    """Scales gradients up for a backward pass and down again afterwards.

    If a gradient is infinite or NaN, all gradients are dropped and the scale shrinks; after
    ``growth_interval`` finite passes it grows.

    Args:
        init_scale: the scale of the first pass.
        growth_factor: factor of a growing scale.
        backoff_factor: factor of the scale after gradients that are not finite.
        growth_interval: number of passes between two growths; 0 keeps the scale and disables the
            check.
    Example:
        >>> w = Parameter([1.0, 2.0])
        >>> gm, scaler = GradManager().attach(w), GradScaler()
        >>> with gm:
        ...     scaler.backward(gm, (w * w).sum())
        >>> w.grad
        Tensor([2. 4.], device=xpux:0)
    """

    def __init__(
        self,
        init_scale: float = 2.0**4,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ):
        self.scale_factor = float(init_scale)
        self.growth_factor = float(growth_factor)
        self.backoff_factor = float(backoff_factor)
        self.growth_interval = growth_interval
        self._growth_tracker = 0
        self._found_non_finite = False

    def backward(
        self,
        gm: GradManager,
        y: Tensor | list[Tensor] | None = None,
        dy: Tensor | list[Tensor] | None = None,
        *,
        unscale_grad: bool = True,
        update_scale: bool | str = "if_unscale_grad",
    ) -> None:
        """``gm.backward`` with scaled gradients.

        Args:
            gm: the GradManager that has recorded ``y``.
            y: results to differentiate.
            dy: their gradients; None for ones.
            unscale_grad: undo the scale, and drop the gradients if they are not finite. Without it
                call ``unscale`` and ``update`` yourself: to accumulate gradients, or to clip them.
            update_scale: update the scale, too; ignored without ``unscale_grad``.
        Raises:
            RuntimeError: nothing was recorded.
        Example:
            >>> w = Parameter([3.0])
            >>> gm, scaler = GradManager().attach(w), GradScaler(init_scale=8)
            >>> with gm:
            ...     scaler.backward(gm, w * 2, unscale_grad=False)
            >>> w.grad
            Tensor([16.], device=xpux:0)
        """
        gm.backward(y, self._scaled(y, dy))
        if unscale_grad:
            self.unscale(gm.attached_tensors())
            if update_scale:
                self.update()

    def _scaled(self, y, dy):
        if y is None:
            return None
        if dy is None:
            if isinstance(y, Tensor):
                return full_like(y, self.scale_factor)
            return [full_like(each, self.scale_factor) for each in y]
        if isinstance(dy, Tensor):
            return dy * self.scale_factor
        return [each * self.scale_factor for each in dy]

    def unscale(self, grad_tensors: Iterable[Tensor]) -> "GradScaler":
        """Undo the scale in ``grad`` of tensors; if one of them is not finite, all become None.

        Args:
            grad_tensors: Tensors with gradients; those without one are passed over.
        Returns:
            The scaler.
        Example:
            >>> x = Tensor([1.0])
            >>> x.grad = Tensor([32.0])
            >>> scaler = GradScaler().unscale([x])
            >>> x.grad
            Tensor([2.], device=xpux:0)
        """
        tensors = [tensor for tensor in grad_tensors if tensor.grad is not None]
        # Without a check there is nothing to update.
        if self.growth_interval == 0:
            for tensor in tensors:
                tensor.grad *= 1 / self.scale_factor
            return self
        if self._check_gradients([tensor.grad for tensor in tensors], 1 / self.scale_factor):
            self._found_non_finite = True
            for tensor in tensors:
                tensor.grad = None
        return self

    def _check_gradients(self, grads: list[Tensor], scale: float) -> bool:
        return bool(grads) and bool(_check_non_finite(grads, scale).item())

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Change the scale as the passes since the last update went.

        Args:
            new_scale: the new scale; None lets it grow or shrink.
        Example:
            >>> scaler = GradScaler(growth_interval=1)
            >>> scaler.update()
            >>> scaler.scale_factor
            32.0
        """
        if self.growth_interval == 0:
            return
        if new_scale is not None:
            self.scale_factor = float(new_scale)
        elif self._found_non_finite:
            self.scale_factor *= self.backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker >= self.growth_interval:
                self.scale_factor *= self.growth_factor
                self._growth_tracker = 0
        self._found_non_finite = False

    def state_dict(self) -> dict:
        """The scale and how it changes.

        Returns:
            A dict for ``load_state_dict``.
        Example:
            >>> GradScaler().state_dict()["scale_factor"]
            16.0
        """
        return {
            "scale_factor": self.scale_factor,
            "growth_factor": self.growth_factor,
            "backoff_factor": self.backoff_factor,
            "growth_interval": self.growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state: dict) -> None:
        """Go on as another scaler would.

        Args:
            state: a dict from ``state_dict``.
        Raises:
            KeyError: an entry is missing; nothing is changed then.
        Example:
            >>> scaler = GradScaler()
            >>> scaler.load_state_dict(GradScaler(init_scale=64).state_dict())
            >>> scaler.scale_factor
            64.0
        """
        found = {name: state[name] for name in self.state_dict()}
        vars(self).update(found)
