# SPDX-License-Identifier: Apache-2.0
"""The kinds of data sets."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np


class Dataset(ABC):
    """Samples by number: derive from it and write ``__getitem__`` and ``__len__``.

    Example:
        >>> class Squares(Dataset):
        ...     def __init__(self):
        ...         super().__init__()
        ...
        ...     def __getitem__(self, index):
        ...         return index**2
        ...
        ...     def __len__(self):
        ...         return 4
        >>> Squares()[3]
        9
    """

    @abstractmethod
    def __init__(self):
        pass

    @abstractmethod
    def __getitem__(self, index: int) -> Any:
        """The sample of a number."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples."""


class StreamDataset(Dataset):
    """Samples one after the other: derive from it and write ``__iter__``.

    Example:
        >>> class Countdown(StreamDataset):
        ...     def __init__(self):
        ...         super().__init__()
        ...
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> [number for number in Countdown()]
        [3, 2, 1]
    """

    @abstractmethod
    def __init__(self):
        pass

    @abstractmethod
    def __iter__(self) -> Iterator:
        """The samples."""

    def __getitem__(self, idx) -> Any:
        raise AssertionError("can not get item from StreamDataset by index")

    def __len__(self):
        raise AssertionError("StreamDataset does not have length")


class ArrayDataset(Dataset):
    """Sample k is the tuple of the rows k of arrays.

    Args:
        arrays: arrays of one length.
    Raises:
        ValueError: there is no array, or the lengths differ.
    Example:
        >>> ArrayDataset([1, 2], [3, 4])[0]
        (1, 3)
    """

    def __init__(self, *arrays: Sequence | np.ndarray):
        super().__init__()
        if not arrays:
            raise ValueError("ArrayDataset needs at least one array")
        lengths = [len(a) for a in arrays]
        if len(set(lengths)) > 1:
            raise ValueError(f"lengths of input arrays are inconsistent: {lengths}")
        self.arrays = arrays

    def __getitem__(self, index: int) -> tuple:
        return tuple(array[index] for array in self.arrays)

    def __len__(self) -> int:
        return len(self.arrays[0])


class ConcatDataset(Dataset):
    """Data sets one after the other.

    Args:
        datasets: the data sets, with a length.
    Raises:
        AssertionError: there is no data set, or one has no length.
        IndexError: an index is too large.
        ValueError: a negative index is out of range.
    Example:
        >>> ConcatDataset([ArrayDataset([1]), ArrayDataset([2])])[-1]
        (2,)
    """

    def __init__(self, datasets: Iterable[Dataset]):
        super().__init__()
        self.datasets = list(datasets)
        assert self.datasets, "ConcatDataset is made of one data set or more"
        if any(isinstance(d, StreamDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support StreamDataset")
        self.ends = list(accumulate(len(d) for d in self.datasets))

    def __getitem__(self, idx: int) -> Any:
        total = len(self)
        if not -total <= idx < total:
            error = IndexError if idx >= 0 else ValueError
            raise error(f"index {idx} is out of range for {total} samples")
        idx %= total
        which = bisect_right(self.ends, idx)
        start = self.ends[which - 1] if which else 0
        return self.datasets[which][idx - start]

    def __len__(self) -> int:
        return self.ends[-1]
