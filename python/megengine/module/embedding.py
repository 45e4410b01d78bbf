# SPDX-License-Identifier: Apache-2.0
"""A table of vectors as a module."""

import numpy as np

from .. import functional as F
from ..core.operands import at_least
from ..tensor import Parameter, Tensor
from . import init
from .module import Module


class Embedding(Module):
    """``functional.embedding`` with its table, which starts normal.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: width of the table.
        padding_idx, max_norm, norm_type: must be None.
        initial_weight: start value of the table.
        freeze: leave the table as it is when learning.
    Raises:
        ValueError: one of the three is given, a size is negative, or ``initial_weight`` has
            another shape.
    Example:
        >>> M.Embedding(5, 3)(Tensor([0, 4])).shape
        (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float | None = None,
        initial_weight: Parameter | None = None,
        freeze: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        given = {"padding_idx": padding_idx, "max_norm": max_norm, "norm_type": norm_type}
        for key, value in given.items():
            if value is not None:
                raise ValueError(f"[Embedding] {key} is not supported, got {value!r}")
        sizes = {"num_embeddings": num_embeddings, "embedding_dim": embedding_dim}
        at_least("Embedding", 0, **sizes)
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.freeze = freeze
        shape = (num_embeddings, embedding_dim)
        if initial_weight is None:
            self.weight = Parameter(np.zeros(shape, np.float32))
            self.reset_parameters()
        else:
            value = initial_weight if hasattr(initial_weight, "numpy") else Tensor(initial_weight)
            if value._tuple_shape != shape:
                raise ValueError(
                    f"[Embedding] initial_weight must have shape {shape}, got {value._tuple_shape}"
                )
            self.weight = Parameter(value.numpy())

    def reset_parameters(self) -> None:
        """Draw the table again.

        Example:
            >>> layer = Embedding(4, 2)
            >>> layer.reset_parameters()
        """
        init.normal_(self.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        weight = self.weight.detach() if self.freeze else self.weight
        return F.embedding(inputs, weight)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Parameter,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float | None = None,
    ) -> "Embedding":
        """A module around a table.

        Args:
            embeddings: the table, rank 2.
            freeze: leave the table as it is when learning.
            padding_idx, max_norm, norm_type: must be None.
        Returns:
            The module.
        Raises:
            ValueError: the rank is not 2, or one of the last three is given.
        Example:
            >>> layer = Embedding.from_pretrained(Tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> layer(Tensor([1], dtype="int32"))
            Tensor([[3. 4.]], device=xpux:0)
        """
        if embeddings.ndim != 2:
            raise ValueError(f"[Embedding] the table must have rank 2, got {embeddings.ndim}")
        rows, width = embeddings._tuple_shape
        return cls(rows, width, padding_idx, max_norm, norm_type, embeddings, freeze)
