# SPDX-License-Identifier: Apache-2.0
"""Gradients that are summed over processes while ``backward`` runs.

The parameters are divided into buckets in the order of their gradients, which the first process
decides for all. A bucket is exchanged when its gradients and the earlier buckets are complete.
"""

import contextlib
import hashlib
import itertools
import math
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..logger import get_logger
from ..tensor import Tensor
from ..utils.future import Future
from .group import Group

_LEAST_BUCKETS = 8  # if they exceed 1 MB: a whole bucket is exchanged after the last gradient
_LAST_BYTES = 64 << 10  # smaller last buckets save no time
_LIST_BYTES = 1 << 16  # size of a list of shapes that is exchanged for an error
_numbers: dict[str, Iterator[int]] = {}  # number of the next buckets of each group, by its key


class _Local(threading.local):
    depth = 0


_local = _Local()


@contextlib.contextmanager
def no_sync() -> Iterator[None]:
    """Keep gradients local within a ``with`` block, to accumulate those of several batches.

    The first ``backward`` after the block exchanges the accumulated gradients. Applies to all
    ``make_allreduce_cb`` callbacks called on this thread.

    Example:
        >>> import megengine.distributed as dist
        >>> from megengine.autodiff import GradManager
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> w = Parameter([2.0])
        >>> gm = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("mean")])
        >>> with dist.no_sync(), gm:
        ...     gm.backward((w * 3).sum())
        >>> with gm:
        ...     gm.backward((w * 4).sum())
        >>> w.grad
        Tensor([7.], device=xpux:0)
    """
    _local.depth += 1
    try:
        yield
    finally:
        _local.depth -= 1


def is_local() -> bool:
    """Whether this thread is in a ``no_sync`` block."""
    return _local.depth > 0


@dataclass
class _Bucket:
    """Parameters whose gradients are exchanged together."""

    name: str
    dtype: str
    members: list[int] = field(default_factory=list)  # positions among the parameters
    bytes: int = 0
    grads: dict[int, Tensor] = field(
        default_factory=dict
    )  # those of this backward pass, by position
    missing: int = 0  # gradients that are expected and have not come
    begun: Tensor | None = None


class GradientBuckets:
    """The buckets of the parameters of one ``GradManager``.

    Args:
        params: the parameters, in the order of attaching.
        order: positions of the parameters whose gradients are expected, in their order.
        group: the processes, all of which make the same object at the same time.
        reduce_method: ``"sum"`` or ``"mean"``.
        bucket_bytes: size of a bucket. Buckets of more than 1 MB hold at most an eighth of all
            gradients.
        wire_dtype: dtype in which float32 gradients are exchanged; None: their own.
        names: names of parameters by ``id``, for messages.
    Raises:
        RuntimeError: the processes have other parameters.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        order: list[int],
        group: Group,
        reduce_method: str,
        bucket_bytes: int,
        wire_dtype: str | None,
        names: dict[int, str],
    ) -> None:
        self._references = [weakref.ref(param) for param in params]
        self._params = list(params)  # kept alive during a backward pass
        self._group = group
        self._mean = reduce_method == "mean"
        self._wire_dtype = wire_dtype
        self._specs = [(tuple(p._tuple_shape), np.dtype(p.dtype).name) for p in params]
        self._labels = [
            names.get(id(p)) or _label(p, i, spec)
            for i, (p, spec) in enumerate(zip(params, self._specs, strict=True))
        ]
        number = next(_numbers.setdefault(group.key, itertools.count()))
        processes = hashlib.sha256(group.key.encode()).hexdigest()[:8]
        self.prefix = f"{processes}.{number}/"
        expected = set(order)
        # Later layers have their gradients first.
        order = order + [i for i in reversed(range(len(params))) if i not in expected]
        self._buckets = self._divide(self._agreed(order), bucket_bytes)
        self._bucket_of = {i: bucket for bucket in self._buckets for i in bucket.members}
        self._next = 0  # the first bucket that has not begun
        self._futures: dict[int, Future] = {}
        self._position = {id(p): i for i, p in enumerate(params)}
        self._has_warned = False

    def is_for(self, params: Sequence[Tensor]) -> bool:
        """Whether these are the parameters."""
        return len(params) == len(self._references) and all(
            reference() is param for reference, param in zip(self._references, params, strict=True)
        )

    def _agreed(self, order: list[int]) -> list[int]:
        """The order of the first process, if all have the same parameters."""
        digest = hashlib.sha256(repr((self._specs, self._mean, self._wire_dtype)).encode()).digest()
        digests = self._gather(digest, "a digest of parameters")
        if any(other != digests[0] for other in digests):
            self._raise_difference()
        if not order:
            return order
        return np.frombuffer(
            self._gather(np.int32(order).tobytes(), "order of parameters")[0], np.int32
        ).tolist()

    def _gather(self, mine: bytes, what: str) -> list[bytes]:
        return _mge.gather_bytes(mine, self._group._ranks(), self._group.rank, what)

    def _raise_difference(self) -> None:
        lines = [f"{counted(len(self._specs), 'parameter')}, mean: {self._mean}"]
        lines += [f"wire dtype {self._wire_dtype}"]
        lines += [
            f"{label} {dtype}" for label, (_, dtype) in zip(self._labels, self._specs, strict=True)
        ]
        mine = "\n".join(lines).encode()[:_LIST_BYTES].ljust(_LIST_BYTES, b"\n")
        lists = [text.decode().splitlines() for text in self._gather(mine, "list of parameters")]
        other = next(i for i, theirs in enumerate(lists) if theirs != lists[0])
        here, there = next(
            ((a, b) for a, b in zip(lists[0], lists[other], strict=False) if a != b),
            (f"{len(lists[0])} lines", f"{len(lists[other])} lines"),
        )
        ranks = self._group._ranks()
        raise RuntimeError(
            f"[AllreduceCallback] the processes attach different parameters: process {ranks[0]} "
            f"has {here!r}, process {ranks[other]} has {there!r}"
        )

    def _divide(self, order: list[int], bucket_bytes: int) -> list[_Bucket]:
        total = sum(map(self._bytes, order))
        bucket_bytes = min(bucket_bytes, max(total // _LEAST_BUCKETS, 1 << 20))
        buckets: list[_Bucket] = []
        open_ones: dict[str, _Bucket] = {}
        for i in order:
            shape, dtype = self._specs[i]
            bucket = open_ones.get(dtype)
            if bucket is None:
                bucket = open_ones[dtype] = _Bucket(f"{self.prefix}{len(buckets)}", dtype)
                buckets.append(bucket)
            bucket.members.append(i)
            bucket.bytes += self._bytes(i)
            if bucket.bytes >= bucket_bytes:
                del open_ones[dtype]
        if buckets:
            self._split_last(buckets, bucket_bytes)
        for bucket in buckets:
            bucket.members.sort()
        return buckets

    def _bytes(self, i: int) -> int:
        return math.prod(self._specs[i][0]) * np.dtype(self._params[i].dtype).itemsize

    def _split_last(self, buckets: list[_Bucket], bucket_bytes: int) -> None:
        """Make the last bucket small: nothing is computed while it is exchanged."""
        last, least = buckets[-1], max(bucket_bytes // 64, _LAST_BYTES)
        size, count = 0, 0
        while size < least and count < len(last.members):
            count += 1
            size += self._bytes(last.members[-count])
        if 2 * size <= last.bytes:
            rest = _Bucket(f"{self.prefix}{len(buckets)}", last.dtype, last.members[-count:], size)
            del last.members[-count:]
            last.bytes -= size
            buckets.append(rest)

    def begin(self, params: list[Tensor], order: list[int], local: dict[int, Tensor]) -> None:
        """Begin a backward pass.

        Args:
            params: the parameters.
            order: positions of the parameters whose gradients are expected.
            local: gradients of other parameters that are exchanged, too.
        """
        expected = set(order)
        self._params, self._next, self._futures = params, 0, {}
        for bucket in self._buckets:
            bucket.grads = {i: local[i] for i in bucket.members if i in local}
            bucket.missing = sum(i in expected for i in bucket.members)
            bucket.begun = None

    def has(self, param: Tensor) -> bool:
        """Whether a tensor is one of the parameters."""
        return id(param) in self._position

    def add(self, param: Tensor, grad: Tensor) -> Future:
        """Return a future for the sum or mean of the gradients of a parameter."""
        i = self._position[id(param)]
        bucket = self._bucket_of[i]
        if np.dtype(grad.dtype).name != bucket.dtype:
            grad = grad.astype(bucket.dtype)
        bucket.grads[i] = grad
        bucket.missing -= 1
        future = self._futures[i] = Future(ack=False)
        while self._next < len(self._buckets) and self._buckets[self._next].missing <= 0:
            self._begin_next()
        return future

    def begin_rest(self) -> None:
        """Exchange the buckets whose gradients are not complete: no more will come."""
        has_gradients = any(bucket.grads for bucket in self._buckets)
        while self._next < (len(self._buckets) if has_gradients else min(1, len(self._buckets))):
            self._begin_next()

    def _begin_next(self) -> None:
        bucket = self._buckets[self._next]
        bucket.grads = {i: bucket.grads[i] for i in bucket.members if i in bucket.grads}
        place = {i: at for at, i in enumerate(bucket.members)}
        is_compressed = self._wire_dtype is not None and bucket.dtype == "float32"
        bucket.begun = _mge.ops.begin_reduction(
            *bucket.grads.values(),
            reduction=bucket.name,
            parameters="\n".join(self._labels[i] for i in bucket.members),
            sizes=[math.prod(self._specs[i][0]) for i in bucket.members],
            present=[place[i] for i in bucket.grads],
            ranks=self._group._ranks(),
            rank=self._group.rank,
            dtype=self._wire_dtype if is_compressed else bucket.dtype,
            mean=self._mean,
            first=self._next == 0,
            has_gradients=any(b.grads for b in self._buckets),
        )
        self._next += 1

    def abort(self) -> None:
        """The backward pass has failed: let the other processes not wait for its gradients."""
        if self._next < len(self._buckets):
            name, ranks = self._buckets[self._next].name, self._group._ranks()
            _mge.abort_reduction(name, ranks, self._group.rank, first=self._next == 0)
        self._clear()

    def _clear(self) -> None:
        for bucket in self._buckets:
            bucket.grads, bucket.begun = {}, None
        self._params, self._futures = [], {}

    def end(self) -> list[tuple[Tensor, Tensor]]:
        """Wait for the sums, give them to their futures, and return those without a future.

        Returns:
            Pairs of parameter and gradient.

        Raises:
            RuntimeError: an exchange has failed, or parameters have gradients in some processes
                only.
        """
        others = []
        for bucket in self._buckets[: self._next]:
            sums = _mge.ops.end_reduction(
                bucket.begun,
                *(self._params[i] for i in bucket.grads),
                reduction=bucket.name,
                dtype=bucket.dtype,
            )
            for i, value in zip(bucket.grads, sums, strict=True):
                if i in self._futures:
                    self._futures[i].set(value)
                else:
                    others.append((self._params[i], value))
        self._warn_of_unused()
        self._clear()
        return others

    def _warn_of_unused(self) -> None:
        unused = [
            self._labels[i]
            for b in self._buckets
            for i in b.members
            if b.grads and i not in b.grads
        ]
        if unused and not self._has_warned:
            self._has_warned = True
            get_logger().warning(
                "no process has a gradient for %s: %s",
                counted(len(unused), "attached parameter"),
                ", ".join(unused),
            )


def _label(param: Tensor, position: int, spec: tuple) -> str:
    """How messages name a parameter."""
    name = param.name or getattr(param, "_short_name", None)
    shape = "x".join(map(str, spec[0])) or "a number"
    return f"parameter {position} ({f'{name}, ' if name else ''}{shape})"


def wire_dtype_of(compress: str | None) -> str | None:
    """The dtype in which gradients are exchanged.

    Raises:
        AssertionError: ``compress`` is neither None, ``"f16"`` nor ``"bf16"``.
    """
    if compress is None:
        return None
    names = {"f16": "float16", "bf16": "bfloat16"}
    assert compress in names, (
        f"[AllreduceCallback] compress must be None, 'f16' or 'bf16', got {compress!r}"
    )
    return names[compress]
