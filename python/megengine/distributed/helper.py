# SPDX-License-Identifier: Apache-2.0
"""Parameters packed and exchanged, gradients summed over processes."""

import functools
import math
import multiprocessing
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .. import _mge
from ..autodiff.grad_manager import BackwardCallback, GradManager, get_backwarding_grad_manager
from ..device import get_device_count
from ..functional.tensor import concat, split
from ..tensor import Tensor
from ..utils.future import Future
from .buckets import GradientBuckets, is_local, wire_dtype_of
from .functional import _bcast_param, all_reduce_sum
from .group import (
    WORLD,
    Group,
    _as_group,
    get_backend,
    group_barrier,
    is_distributed,
    override_backend,
)

_PROBE_SECONDS = 120  # drivers of GPUs may take some
_PACK_BYTES = 10 << 20  # gradients are collected up to this size before they are sent
_BUCKET_BYTES = 25 << 20


def get_device_count_by_fork(device_type: str) -> int:
    """``device.get_device_count`` in another process, so that this one can be forked afterwards.

    Args:
        device_type: kind of the devices.
    Raises:
        RuntimeError: the other process has failed or does not answer.
    Example:
        >>> get_device_count_by_fork("cpu") >= 1
        True
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_device_count, args=(sender, device_type), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(_PROBE_SECONDS):
            raise RuntimeError(
                f"[get_device_count_by_fork] the process that counts devices of type "
                f"{device_type!r} has not answered within {_PROBE_SECONDS} s"
            )
        count, error = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(
            f"[get_device_count_by_fork] the process that counts devices of type "
            f"{device_type!r} has ended with exit code {process.exitcode}"
        ) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if error is not None:
        raise error
    return count


def _send_device_count(sender, device_type: str) -> None:
    try:
        sender.send((get_device_count(device_type), None))
    except Exception as error:
        sender.send((0, error))


def get_offsets(shapes: Sequence[Sequence[int]]) -> list[int]:
    """Start and end of each of several Tensors that are concatenated.

    Args:
        shapes: of the Tensors.
    Returns:
        Begin and end of the first, of the second …, in elements.
    Example:
        >>> get_offsets([(2, 3), (4,)])
        [0, 6, 6, 10]
    """
    offsets, end = [], 0
    for shape in shapes:
        begin, end = end, end + int(np.prod(shape))
        offsets += (begin, end)
    return offsets


def param_pack_concat(inps: Sequence[Tensor], offsets: Tensor, offsets_val: list[int]) -> Tensor:
    """Several Tensors as one vector.

    Args:
        inps: the Tensors.
        offsets: as ``get_offsets`` gives them.
        offsets_val: the same as numbers.
    Example:
        >>> param_pack_concat([Tensor([1, 2]), Tensor([[3]])], Tensor([0, 2, 2, 3]), [0, 2, 2, 3])
        Tensor([1 2 3], dtype=int32, device=xpux:0)
    """
    return concat([x.reshape(-1) for x in inps])


def param_pack_split(
    inp: Tensor, offsets: list[int], shapes: Sequence[Sequence[int]]
) -> tuple[Tensor, ...]:
    """The Tensors that were packed into a vector.

    Args:
        inp: the vector.
        offsets: as ``get_offsets`` gives them.
        shapes: of the Tensors.
    Example:
        >>> a, b = param_pack_split(Tensor([1, 2, 3]), [0, 2, 2, 3], [(1, 2), (1,)])
        >>> a
        Tensor([[1 2]], dtype=int32, device=xpux:0)
    """
    parts = split(inp, offsets[2::2])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def pack_allreduce_split(
    pack_list: Sequence[Tensor], shapes: Sequence[Sequence[int]], group: Group, reduce_method: str
) -> tuple[Tensor, ...]:
    """Sums (or means) over the processes, all Tensors in one exchange.

    Args:
        pack_list: the Tensors.
        shapes: their shapes.
        group: the processes.
        reduce_method: ``"sum"`` or ``"mean"``.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> grads = [Tensor([1.0, 2.0]), Tensor([[3.0]])]
        >>> pack_allreduce_split(grads, [(2,), (1, 1)], dist.WORLD, "mean")
        (Tensor([1. 2.], device=xpux:0), Tensor([[3.]], device=xpux:0))
    """
    offsets = get_offsets(shapes)
    packed = param_pack_concat(pack_list, Tensor(offsets), offsets)
    packed = all_reduce_sum(packed, group)
    if reduce_method == "mean":
        packed = packed / group.size
    return param_pack_split(packed, offsets, shapes)


def bcast_list_(inps: Iterable[Tensor], group: Group | None = WORLD) -> None:
    """Give the Tensors of all processes the values of the first one's.

    Args:
        inps: the Tensors to change; of the same shapes and dtypes on all processes.
        group: the processes; None: all.
    Raises:
        TypeError: ``group`` is not a ``Group``.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> net = M.Linear(2, 1)
        >>> bcast_list_(net.parameters())
    """
    group = _as_group(group)
    for inp in inps:
        inp._reset(_bcast_param(inp, group))


def synchronized(func: Callable) -> Callable:
    """Make a function wait for the other processes when it has returned.

    Example:
        >>> @synchronized
        ... def save(path):  # returns when all processes have written theirs
        ...     with open(path, "w") as file:
        ...         return file.write("done")
        >>> save("checkpoint.txt")
        4
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if not is_distributed():
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        group_barrier()
        return result

    return wrapper


class TensorFuture(Future):
    """A Tensor that is computed on first access.

    Args:
        compute: called on first access; it sets the value.
        ack: as for ``Future``.
    """

    def __init__(self, compute: Callable[[], None] = lambda: None, ack: bool = False) -> None:
        super().__init__(ack)
        self._compute = compute

    def get(self) -> Tensor:
        """The Tensor."""
        if not self._is_set.is_set():
            self._compute()
        return super().get()


class _Pack:
    """Gradients of one ``backward`` that wait for their exchange, by dtype.

    After a failure gradients are not exchanged, because other processes may be at another point.
    """

    def __init__(self, exchange: Callable[[list[Tensor]], tuple[Tensor, ...]]) -> None:
        self._exchange = exchange
        self._waiting: dict[str, list[tuple[TensorFuture, Tensor]]] = defaultdict(list)
        self._bytes: dict[str, int] = defaultdict(int)
        self._has_failed = False

    def add(self, grad: Tensor) -> TensorFuture:
        """A future for the reduced gradient."""
        future, dtype = TensorFuture(self._send_all), np.dtype(grad.dtype)
        self._waiting[dtype.name].append((future, grad))
        self._bytes[dtype.name] += math.prod(grad._tuple_shape) * dtype.itemsize
        if self._bytes[dtype.name] > _PACK_BYTES:
            self._send(dtype.name)
        return future

    def _send_all(self) -> None:
        if self._has_failed:
            raise RuntimeError("[AllreduceCallback] the exchange of this gradient has failed")
        for dtype in sorted(self._waiting):
            self._send(dtype)

    def _send(self, dtype: str) -> None:
        self._bytes.pop(dtype)
        futures, grads = zip(*self._waiting.pop(dtype), strict=True)
        self._has_failed = True  # until it is done
        for future, grad in zip(futures, self._exchange(list(grads)), strict=True):
            future.set(grad)
        self._has_failed = False


class AllreduceCallback(BackwardCallback):
    """A ``GradManager`` callback that replaces each gradient by the processes' sum or mean.

    Gradients are exchanged in buckets, in the order in which ``backward`` computes them, by a
    thread of this process while the rest of ``backward`` runs; ``backward`` returns when all are
    exchanged. The sum of each element is computed in the order of ranks, so neither the size of
    buckets nor the overlap changes a bit. Traced functions do the same. All processes have to
    attach parameters of the same shapes and dtypes in the same order, and ``backward`` has to
    give gradients for the same ones; the first call compares them.

    Gradients stay on their device; those of a GPU are exchanged through host memory. A callback
    belongs to the thread that calls ``backward``.

    Args:
        reduce_method: ``"sum"`` or ``"mean"``.
        group: the processes; None: all.
        backend: ignored: the engine is chosen once, by ``init_process_group``.
        bucket_bytes: size of a bucket, in bytes of gradients. Small buckets begin earlier, large
            ones need fewer messages. Buckets of more than 1 MB hold at most an eighth of all
            gradients.
        compress: ``"f16"`` or ``"bf16"`` to exchange float32 gradients in half of their bytes.
            They are summed and returned in that precision; a mean is divided before the sum, so it
            cannot overflow.
        named_parameters: pairs of name and parameter, such as ``net.named_parameters()``, for
            messages.
    Raises:
        AssertionError: there is no such method or compression, ``bucket_bytes`` is not positive,
            or ``init_process_group`` was not called.
        TypeError: ``group`` is not a ``Group``.
        RuntimeError: raised by ``backward`` in all processes if parameters have gradients in some
            of them only, or if the attached parameters differ; both errors name them. Also if an
            exchange fails.
    Example:
        >>> import megengine.distributed as dist
        >>> from megengine.autodiff import GradManager
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> from megengine import Parameter
        >>> w = Parameter([2.0])
        >>> gm = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("mean")])
        >>> with gm:
        ...     gm.backward((w * w).sum())
        >>> w.grad
        Tensor([4.], device=xpux:0)
    """

    def __init__(
        self,
        reduce_method: str,
        group: Group | None = WORLD,
        backend: str | None = None,
        *,
        bucket_bytes: int = _BUCKET_BYTES,
        compress: str | None = None,
        named_parameters: Iterable[tuple[str, Tensor]] = (),
    ) -> None:
        reduce_method = reduce_method.lower()
        assert reduce_method in ("sum", "mean"), (
            f"[AllreduceCallback] reduce_method must be 'sum' or 'mean', got {reduce_method!r}"
        )
        assert bucket_bytes > 0, (
            f"[AllreduceCallback] bucket_bytes must be positive, got {bucket_bytes}"
        )
        self._reduce_method = reduce_method
        self._group = _as_group(group)
        self._backend = get_backend() if backend is None else backend
        self._bucket_bytes = bucket_bytes
        self._wire_dtype = wire_dtype_of(compress)
        self._names = {id(param): name for name, param in named_parameters}
        self._backward: object = None
        self._pack = _Pack(self._reduced)
        self._buckets: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by GradManager
        self._running: GradientBuckets | None = None
        self._kept = _LocalGradients()

    def before_backward(self, manager: GradManager, ys: list[Tensor]) -> None:
        """Prepare the buckets of a backward pass."""
        self._running = None
        if self._group.size == 1 or is_local():
            return
        params, positions = [], {}
        for at, key in enumerate(manager._on_tape):
            entry = None if key is None else manager._attached.get(key)
            param = None if entry is None else entry.tensor()
            if param is not None and self in entry.callbacks:
                positions[at] = len(params)
                params.append(param)
        arriving = manager._tape.arrival_order(ys)
        order = [positions[at] for at in arriving if at in positions]
        buckets = self._buckets.get(manager)
        if buckets is None or not buckets.is_for(params):
            buckets = self._buckets[manager] = GradientBuckets(
                params,
                order,
                self._group,
                self._reduce_method,
                self._bucket_bytes,
                self._wire_dtype,
                self._names,
            )
            weakref.finalize(buckets, _mge.forget_reductions, buckets.prefix)
        expected = set(order)
        local = {
            i: grad
            for i, param in enumerate(params)
            if i not in expected and (grad := self._kept.take(param)) is not None
        }
        buckets.begin(params, order, local)
        self._running = buckets

    def __call__(self, param: Tensor, grad: Tensor) -> Tensor | Future:
        """The reduced gradient, or a future for it.

        Args:
            param: the parameter of the gradient.
            grad: the gradient of this process.
        """
        if is_local():
            self._kept.keep(param)
            return grad
        kept = self._kept.take(param)
        if kept is not None:
            grad = kept + grad
        # A gradient that is differentiated again needs an operator with a gradient.
        is_recorded = _mge.is_recorded(grad)
        if self._running is not None and self._running.has(param) and not is_recorded:
            return self._running.add(param, grad)
        manager = get_backwarding_grad_manager()
        backward = None if manager is None else manager._tape
        if backward is not self._backward:
            self._backward, self._pack = backward, _Pack(self._reduced)
        return self._pack.add(grad)

    def after_backward(self, manager: GradManager) -> Callable[[], None]:
        """Exchange the remaining buckets; the result waits for all."""
        buckets, self._running = self._running, None
        if buckets is None:
            return lambda: None
        buckets.begin_rest()

        def finish() -> None:
            for param, grad in buckets.end():
                param.grad = grad if param.grad is None else param.grad + grad

        return finish

    def backward_has_failed(self, manager: GradManager) -> None:
        """Let ``backward`` of the other processes fail, too."""
        buckets, self._running = self._running, None
        if buckets is not None:
            buckets.abort()

    def _reduced(self, grads: list[Tensor]) -> tuple[Tensor, ...]:
        shapes = [grad._tuple_shape for grad in grads]
        with override_backend(self._backend):
            return pack_allreduce_split(grads, shapes, self._group, self._reduce_method)


class _LocalGradients:
    """Which gradients were accumulated in ``no_sync`` blocks, and what the parameters had before.

    ``grad`` of such a parameter has the local part alone until it is exchanged.
    """

    def __init__(self) -> None:
        self._before: dict[int, tuple[weakref.ref, Tensor | None]] = {}

    def keep(self, param: Tensor) -> None:
        """A gradient of this process is about to be added to ``param.grad``."""
        if id(param) not in self._before or self._before[id(param)][0]() is not param:
            self._before[id(param)] = (weakref.ref(param), getattr(param, "grad", None))
            param.grad = None

    def take(self, param: Tensor) -> Tensor | None:
        """The accumulated gradient; ``param.grad`` is then as it was before, unless it was
        removed."""
        reference, before = self._before.pop(id(param), (lambda: None, None))
        if reference() is not param or param.grad is None:
            return None
        kept, param.grad = param.grad, before
        return kept


make_allreduce_cb = AllreduceCallback
