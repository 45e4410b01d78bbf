# SPDX-License-Identifier: Apache-2.0
"""Base of the sets of images."""

import os
from collections.abc import Sequence

from ..meta_dataset import Dataset


class VisionDataset(Dataset):
    """Base class of image data sets; derived classes define ``__getitem__`` and ``__len__``.

    Args:
        root: folder of the files, where a leading ``~`` is the user's home folder. Anything that is
            not a path, such as None for data without files, is kept as it is.
        order: types of the fields of a sample; default: ``("image",)``.
        supported_order: the available types; default: the class's ``supported_order``. None in
            both: any type.
    Raises:
        ValueError: ``order`` is not a sequence.
        NotImplementedError: a type is not supported.
    Example:
        >>> import numpy as np
        >>> class Dark(VisionDataset):
        ...     supported_order = ("image", "image_category")
        ...
        ...     def __getitem__(self, index):
        ...         fields = {"image": np.zeros((2, 2, 3), np.uint8), "image_category": index}
        ...         return tuple(fields[kind] for kind in self.order)
        ...
        ...     def __len__(self):
        ...         return 5
        >>> Dark(".", order=["image_category"])[3]
        (3,)
        >>> Dark(".", order=["depth"])
        Traceback (most recent call last):
            ...
        NotImplementedError: depth is unsupported data type
    """

    supported_order: Sequence[str] | None = None

    def __init__(
        self,
        root: str | bytes | os.PathLike | None,
        *,
        order: Sequence[str] | None = None,
        supported_order: Sequence[str] | None = None,
    ):
        is_path = isinstance(root, str | bytes | os.PathLike)
        self.root = os.path.expanduser(os.fspath(root)) if is_path else root
        if order is None:
            order = ("image",)
        if not isinstance(order, Sequence):
            raise ValueError(f"order should be a sequence, but got order={order}")
        supported = self.supported_order if supported_order is None else supported_order
        for kind in order:
            if supported is not None and kind not in supported:
                raise NotImplementedError(f"{kind} is unsupported data type")
        self.order = order

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError
