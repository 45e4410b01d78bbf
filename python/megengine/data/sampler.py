# SPDX-License-Identifier: Apache-2.0
"""Samplers: the order of samples, and the batches."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count, cycle, islice

import numpy as np

from ..core.counted import counted
from ..core.processes import distributed

_ENDLESS = np.iinfo(np.int64).max


class Sampler(ABC):
    """Base of the samplers.

    Example:
        >>> class Backwards(Sampler):
        ...     def __init__(self, dataset):
        ...         self.dataset = dataset
        ...
        ...     def __iter__(self):
        ...         return iter([[k] for k in reversed(range(len(self.dataset)))])
        >>> list(Backwards("abc"))
        [[2], [1], [0]]
    """

    @abstractmethod
    def __init__(self):
        pass


class MapSampler(Sampler):
    """Batches of sample numbers; derived classes give the order in ``sample``.

    Args:
        dataset: data set with a length.
        batch_size: number of samples in a batch.
        drop_last: omit a smaller last batch.
        num_samples: number of samples in an epoch; None: all.
        world_size: number of processes that share the samples; None: those that train together.
        rank: number of this process; None: its rank.
        seed: seed of the random order; None: a new one each time, but 0 if processes share the
            samples, because they need the same order.
    Raises:
        ValueError: an argument is out of its range, or a process gets less than one batch.
    Example:
        >>> class EvensFirst(MapSampler):
        ...     def sample(self):
        ...         return sorted(range(len(self.dataset)), key=lambda k: k % 2)
        >>> list(EvensFirst("abcde", batch_size=2))
        [[0, 2], [4, 1], [3]]
        >>> list(EvensFirst("abcde", batch_size=2, drop_last=True))
        [[0, 2], [4, 1]]
    """

    def __init__(
        self,
        dataset,
        batch_size: int = 1,
        drop_last: bool = False,
        num_samples: int | None = None,
        world_size: int | None = None,
        rank: int | None = None,
        seed: int | None = None,
    ):
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a bool, got {drop_last!r}")
        if num_samples is not None and (
            isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples <= 0
        ):
            raise ValueError(f"num_samples should be a positive integer, got {num_samples!r}")

        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_samples = len(dataset) if num_samples is None else num_samples
        together = distributed()
        if world_size is None:
            world_size = 1 if together is None else together.get_world_size()
        if rank is None:
            rank = 0 if together is None else together.get_rank()
        self.world_size = world_size
        self.rank = rank
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank should be in [0, {self.world_size}), got {self.rank}")
        self.rng = np.random.RandomState(0 if seed is None and self.world_size > 1 else seed)
        self.num_samples = math.ceil(self.num_samples / self.world_size)
        if self.num_samples < batch_size:
            raise ValueError(
                f"a process gets {counted(self.num_samples, 'sample')}, less than a batch of"
                f" {batch_size}"
            )

    def __iter__(self) -> Iterator[list[int]]:
        return self.batch()

    def __len__(self) -> int:
        if self.drop_last:
            return self.num_samples // self.batch_size
        return math.ceil(self.num_samples / self.batch_size)

    def sample(self) -> list[int]:
        """The sample numbers of an epoch, for all processes.

        Raises:
            NotImplementedError: a class has neither this method nor another ``batch``.
        Example:
            >>> SequentialSampler("abc").sample()
            [0, 1, 2]
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it samples")

    def scatter(self, indices: list[int]) -> list[int]:
        """The part of this process: repeated from the front to equal shares, every n-th.

        Example:
            >>> SequentialSampler("abcde", world_size=2, rank=1).scatter([0, 1, 2, 3, 4])
            [1, 3, 0]
        """
        total = self.num_samples * self.world_size
        return list(islice(cycle(indices), self.rank, total, self.world_size))

    def batch(self) -> Iterator[list[int]]:
        """The batches of this process.

        Example:
            >>> list(SequentialSampler("abcde", batch_size=2).batch())
            [[0, 1], [2, 3], [4]]
        """
        indices = list(self.sample())
        if self.world_size > 1:
            indices = self.scatter(indices)
        step = self.batch_size
        batches = [indices[k : k + step] for k in range(0, len(indices), step)]
        if self.drop_last and batches and len(batches[-1]) < step:
            batches.pop()
        return iter(batches)


class StreamSampler(Sampler):
    """Batches of a stream: only their size counts.

    Args:
        batch_size: samples of a batch.
    Example:
        >>> next(iter(StreamSampler(2)))
        [0, 1]
    """

    def __init__(self, batch_size: int = 1):
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[list[int]]:
        return self.batch()

    def batch(self) -> Iterator[list[int]]:
        """Endless batches of rising numbers.

        Example:
            >>> next(StreamSampler(batch_size=3).batch())
            [0, 1, 2]
        """
        numbers = self.sample()
        while True:
            yield [next(numbers) for _ in range(self.batch_size)]

    def sample(self) -> Iterator[int]:
        """Endless rising numbers.

        Example:
            >>> next(StreamSampler().sample())
            0
        """
        return count()


def _check_indices(indices) -> None:
    if indices is not None and not isinstance(indices, Sequence):
        raise ValueError(f"indices should be a sequence, got {type(indices).__name__}")


class SequentialSampler(MapSampler):
    """The samples in order.

    Args:
        dataset, batch_size, drop_last, world_size, rank: as in ``MapSampler``.
        indices: indices of the samples to use; None: all.
    Raises:
        ValueError: ``indices`` is not a sequence; see also ``MapSampler``.
    Example:
        >>> list(SequentialSampler([7, 8, 9], batch_size=2))
        [[0, 1], [2]]
    """

    def __init__(
        self,
        dataset,
        batch_size: int = 1,
        drop_last: bool = False,
        indices: Sequence[int] | None = None,
        world_size: int | None = None,
        rank: int | None = None,
    ):
        super().__init__(dataset, batch_size, drop_last, None, world_size, rank)
        _check_indices(indices)
        self.indices = indices

    def sample(self) -> list[int]:
        return list(range(len(self.dataset)) if self.indices is None else self.indices)


class RandomSampler(MapSampler):
    """The samples in random order, each once.

    Args:
        dataset, batch_size, drop_last, world_size, rank, seed: as in ``MapSampler``.
        indices: indices of the samples to use; None: all.
    Raises:
        ValueError: ``indices`` is not a sequence; see also ``MapSampler``.
    Example:
        >>> sorted(sum(RandomSampler([7, 8, 9], batch_size=2), []))
        [0, 1, 2]
    """

    def __init__(
        self,
        dataset,
        batch_size: int = 1,
        drop_last: bool = False,
        indices: Sequence[int] | None = None,
        world_size: int | None = None,
        rank: int | None = None,
        seed: int | None = None,
    ):
        super().__init__(dataset, batch_size, drop_last, None, world_size, rank, seed)
        _check_indices(indices)
        self.indices = indices

    def sample(self) -> list[int]:
        if self.indices is None:
            return self.rng.permutation(len(self.dataset)).tolist()
        return [self.indices[k] for k in self.rng.permutation(len(self.indices))]


class ReplacementSampler(MapSampler):
    """Samples drawn at random, some perhaps more than once.

    Args:
        dataset, batch_size, drop_last, num_samples, world_size, rank, seed: as in ``MapSampler``.
        weights: probability of each sample, not negative; None: equal weights.
    Raises:
        ValueError: the number of weights is not that of the samples; see also ``MapSampler``.
    Example:
        >>> from megengine.data.dataset import ArrayDataset
        >>> dataset = ArrayDataset(np.arange(4))
        >>> len(list(ReplacementSampler(dataset, batch_size=2, num_samples=4)))
        2
    """

    def __init__(
        self,
        dataset,
        batch_size: int = 1,
        drop_last: bool = False,
        num_samples: int | None = None,
        weights: Sequence[float] | None = None,
        world_size: int | None = None,
        rank: int | None = None,
        seed: int | None = None,
    ):
        super().__init__(dataset, batch_size, drop_last, num_samples, world_size, rank, seed)
        if weights is not None:
            if not isinstance(weights, Sequence):
                raise ValueError(f"weights should be a sequence, got {type(weights).__name__}")
            if len(weights) != len(dataset):
                raise ValueError(
                    f"{counted(len(weights), 'weight')} for {counted(len(dataset), 'sample')}"
                )
        self.weights = weights

    def sample(self) -> list[int]:
        n = len(self.dataset)
        total = self.num_samples * self.world_size
        if self.weights is None:
            return self.rng.randint(n, size=total).tolist()
        weights = np.asarray(self.weights, np.float64)
        return self.rng.choice(n, size=total, p=weights / weights.sum()).tolist()


class Infinite(MapSampler):
    """A sampler that restarts after its end. Its attributes are those of the wrapped sampler.

    Args:
        sampler: the sampler.
    Example:
        >>> from megengine.data.dataset import ArrayDataset
        >>> sampler = SequentialSampler(ArrayDataset(np.arange(2)))
        >>> batches = iter(Infinite(sampler))
        >>> [next(batches) for _ in range(3)]
        [[0], [1], [0]]
    """

    def sample(self):
        """Not available, because an infinite sequence has no list.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("sample method not supported in Infinite")

    def __init__(self, sampler: Sampler):
        self.sampler = sampler
        self.sampler_iter = iter(sampler)

    def __iter__(self) -> "Infinite":
        return self

    def __next__(self) -> list[int]:
        try:
            return next(self.sampler_iter)
        except StopIteration:
            self.sampler_iter = iter(self.sampler)
            return next(self.sampler_iter)

    def __len__(self) -> int:
        return int(_ENDLESS)

    def __getattr__(self, name: str):
        if name == "sampler":  # not made yet: while it is unpickled
            raise AttributeError(name)
        if hasattr(type(self), name):
            # A property of a subclass has failed: its own error says why.
            return object.__getattribute__(self, name)
        return getattr(self.sampler, name)
