# SPDX-License-Identifier: Apache-2.0
"""``DataLoader``: batches of a data set, made here or by worker processes."""

from collections.abc import Iterable, Iterator

import numpy as np

from .. import _mge
from ..random import rng
from ..tensor import Tensor
from .collator import Collator
from .dataset import Dataset, StreamDataset
from .items_in_time import items_in_time
from .sampler import MapSampler, SequentialSampler, StreamSampler
from .transform import PseudoTransform, Transform
from .worker import Workers, get_worker_info

__all__ = ["DataLoader", "get_worker_info"]


class DataLoader:
    """Batches of a data set.

    Args:
        dataset: the source of the samples.
        sampler: the order of the samples; None: single samples in order.
        transform: applied to the samples; None: no transform.
        collator: combines samples into a batch.
        num_workers: number of processes that make batches; 0: this process makes them.
        timeout: seconds to wait for a worker that makes no progress, or for a sample of a stream,
            which then is read in a thread of its own; 0: no limit.
        preload: return Tensors, and make the next batch ahead; copies to a GPU overlap with its
            work.
        parallel_stream: each worker reads the stream, and the data set divides it by
            ``get_worker_info``; otherwise this process reads it, and the workers make batches of
            its samples.
    Raises:
        ValueError: ``num_workers`` or ``timeout`` is negative.
        TypeError: ``transform`` has no ``apply_batch`` (for a stream ``apply``), or ``collator`` no
            ``apply``.
        AssertionError: ``dataset`` is not a data set, or the sampler does not fit it.
    Example:
        >>> from megengine.data.dataset import ArrayDataset
        >>> next(iter(DataLoader(ArrayDataset([1, 2]))))
        [array([1])]
        >>> from megengine.data import SequentialSampler
        >>> data = ArrayDataset(np.arange(3), np.array([0, 1, 1]))
        >>> loader = DataLoader(data, SequentialSampler(data, batch_size=2))
        >>> for values, classes in loader:
        ...     print(values, classes)
        [0 1] [0 1]
        [2] [1]
    """

    def __init__(
        self,
        dataset: Dataset,
        sampler=None,
        transform: Transform | None = None,
        collator: Collator | None = None,
        num_workers: int = 0,
        timeout: float = 0,
        preload: bool = False,
        parallel_stream: bool = False,
    ):
        if num_workers < 0:
            raise ValueError(f"num_workers should not be negative, got {num_workers}")
        if timeout < 0:
            raise ValueError(f"timeout should not be negative, got {timeout}")
        assert isinstance(dataset, Dataset), (
            f"dataset should be a Dataset, got {type(dataset).__name__}"
        )
        self.is_stream = isinstance(dataset, StreamDataset)
        if sampler is None:
            sampler = StreamSampler(1) if self.is_stream else SequentialSampler(dataset)
        inner = getattr(sampler, "sampler", sampler)
        if self.is_stream:
            assert isinstance(inner, StreamSampler), (
                f"a StreamDataset needs a StreamSampler, got {type(inner).__name__}"
            )
        else:
            assert isinstance(inner, MapSampler), (
                f"a Dataset needs a MapSampler, got {type(inner).__name__}"
            )
        self.dataset = dataset
        self.sampler = sampler
        self.transform = PseudoTransform() if transform is None else transform
        self.collator = Collator() if collator is None else collator
        # A class of the caller's own needs the methods, not the base class.
        for name, part, method in (
            ("transform", self.transform, "apply" if self.is_stream else "apply_batch"),
            ("collator", self.collator, "apply"),
        ):
            if not callable(getattr(part, method, None)):
                raise TypeError(f"{name} should have a method {method}, got {type(part).__name__}")
        self.num_workers = num_workers
        self.timeout = timeout
        self.preload = preload
        self.parallel_stream = parallel_stream

    def __len__(self) -> int:
        if self.is_stream:
            # Not another class: list and tqdm take it for an iterable without a length.
            raise TypeError("StreamDataset does not have length")
        return len(self.sampler)

    def __iter__(self) -> Iterator:
        batches = self._from_workers() if self.num_workers else self._made_here()
        if self.preload:
            batches = _preloaded(batches)
        return batches if self.is_stream else _Epoch(batches, self.sampler)

    def check_memory_rationality(self) -> None:
        """No effect: the caller has to ensure that the batches in flight fit in memory."""

    def make_batch(self, samples: list):
        """The batch of a list of samples.

        Example:
            >>> from megengine.data.dataset import ArrayDataset
            >>> loader = DataLoader(ArrayDataset([1, 2, 3]))
            >>> loader.make_batch([(1,), (2,)])
            [array([1, 2])]
        """
        return self.collator.apply(self.transform.apply_batch(samples))

    def stream_batch(self, samples: list):
        """The batch of a list of samples of a stream.

        Example:
            >>> from megengine.data.dataset import ArrayDataset
            >>> loader = DataLoader(ArrayDataset([1, 2, 3]))
            >>> loader.stream_batch([(1,), (2,)])
            [array([1, 2])]
        """
        return self.collator.apply([self.transform.apply(sample) for sample in samples])

    def stream_batches(self) -> Iterator:
        """Batches of a stream; the last one may be smaller.

        Example:
            >>> from megengine.data import StreamSampler
            >>> from megengine.data.dataset import StreamDataset
            >>> class Count(StreamDataset):
            ...     def __init__(self):
            ...         pass
            ...     def __iter__(self):
            ...         yield from ((k,) for k in range(3))
            >>> loader = DataLoader(Count(), StreamSampler(batch_size=2))
            >>> list(loader.stream_batches())
            [[array([0, 1])], [array([2])]]
        """
        return self._batches_of(self.dataset)

    def _batches_of(self, samples: Iterable) -> Iterator:
        # Each sample is transformed before the next is read: a data set may reuse its memory.
        for transformed in self._in_lists(self.transform.apply(sample) for sample in samples):
            yield self.collator.apply(transformed)

    def stream_samples(self) -> Iterator:
        """Lists of the samples of a stream, each for one batch; the last one may be shorter.

        Raises:
            RuntimeError: a sample took longer than the time limit.
        Example:
            >>> from megengine.data import StreamSampler
            >>> from megengine.data.dataset import StreamDataset
            >>> class Count(StreamDataset):
            ...     def __init__(self):
            ...         pass
            ...     def __iter__(self):
            ...         yield from range(3)
            >>> loader = DataLoader(Count(), StreamSampler(batch_size=2))
            >>> list(loader.stream_samples())
            [[0, 1], [2]]
        """
        return self._in_lists(self._samples_in_time())

    def _samples_in_time(self) -> Iterable:
        return items_in_time(self.dataset, self.timeout) if self.timeout else self.dataset

    def _in_lists(self, samples: Iterable) -> Iterator:
        filled = []
        for sample in samples:
            filled.append(sample)
            if len(filled) == self.sampler.batch_size:
                yield filled
                filled = []
        if filled:
            yield filled

    def _made_here(self) -> Iterator:
        if self.is_stream:
            yield from self._batches_of(self._samples_in_time())
            return
        for indices in self.sampler:
            yield self.make_batch([self.dataset[k] for k in indices])

    def _from_workers(self) -> Iterator:
        workers = Workers(self, rng.host_seed())
        try:
            yield from workers.batches()
        finally:
            workers.stop()


class _Epoch(Iterator):
    """The batches of an epoch; ``len`` counts all of them, including those already taken."""

    def __init__(self, batches: Iterator, sampler):
        self._batches, self._sampler = batches, sampler

    def __next__(self):
        return next(self._batches)

    def __len__(self) -> int:
        return len(self._sampler)

    def close(self) -> None:
        """End it, and the processes that make its batches."""
        self._batches.close()


def _preloaded(batches: Iterator) -> Iterator:
    """Tensors, one batch ahead of the one that is in use."""
    ahead = None
    is_first = True
    for batch in batches:
        tensors = _to_tensors(batch)
        if not is_first:
            yield ahead
        ahead, is_first = tensors, False
    if not is_first:
        yield ahead


def _to_tensors(value):
    if isinstance(value, np.ndarray):
        device = _mge.get_default_device()
        if not device.startswith("gpu"):
            return Tensor(value)
        # The copy overlaps with the GPU's work on earlier batches.
        return _mge.upload_overlapped(Tensor(value, device="cpu0"), device)
    if isinstance(value, dict):
        return {key: _to_tensors(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_to_tensors(part) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_to_tensors(part) for part in value)
    return value
