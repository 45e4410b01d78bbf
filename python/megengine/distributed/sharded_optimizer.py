# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose state is divided among processes.

Each parameter group is divided in one of two ways. Optimizers that treat each element alone work on
an equal part of all elements in each process. Others work on whole parameters: each belongs to one
process; parameters that are too large for an equal division have their state divided by elements,
and all processes gather that state for the step.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _mge
from ..optimizer import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer
from ..tensor import Parameter, Tensor
from .group import WORLD, Group, _as_group

# Their step of an element depends on no other element.
_ELEMENTWISE = (SGD, Adam, AdamW, Adagrad, Adadelta)
_BUCKET_BYTES = 25 << 20
_ALIGNMENT = 16  # elements at whose multiples parts begin, so that vectors of a kernel stay whole
_LARGEST_SHARE = 1.1  # limit for a process, relative to the mean


def _size(param: Tensor) -> int:
    return int(np.prod(param._tuple_shape))


def _flat(tensor: Tensor) -> Tensor:
    return _mge.ops.reshape(tensor, shape=[-1])


@dataclass
class _Piece:
    """Consecutive elements of a parameter whose state this process has."""

    param: Parameter
    begin: int
    end: int
    own: Parameter  # that the inner optimizer changes


@dataclass
class _Bucket:
    """Parameters whose new values are gathered together.

    The gathered vector has ``chunk`` elements of each process.
    """

    chunk: int
    places: list[tuple[Parameter, int]]  # parameters with their offsets in the vector
    pieces: list[_Piece] = field(default_factory=list)  # the part of this process, in order


@dataclass
class _Divided:
    """A parameter whose state is divided, while each process computes the whole step."""

    param: Parameter
    chunk: int
    states: dict[str, Tensor] = field(default_factory=dict)
    divided: set[str] = field(default_factory=set)  # the others are whole


class ShardedOptimizer(Optimizer):
    """An optimizer whose state is divided among the processes of a group (ZeRO stage 1).

    Each process stores the state of about 1/n of the elements, updates that part of the parameters
    and gets the rest from the others. The results are those of the optimizer itself: with the same
    gradients in all processes, as ``make_allreduce_cb`` gives them, each bit is the same.

    Construction, ``step``, ``add_param_group`` and ``state_dict`` are calls that all processes of
    the group make, with parameters of the same shapes, dtypes and order. Use it from one thread.

    Args:
        optimizer_class: such as ``megengine.optimizer.Adam``; any subclass of ``Optimizer``.
        params: as in ``Optimizer``; Parameters of any shape and floating dtype.
        group: the processes; None: all.
        bucket_bytes: bytes of parameters that are gathered at once.
        options: keywords of the optimizer's constructor.
    Raises:
        TypeError: ``optimizer_class`` is not a subclass of ``Optimizer``, ``group`` is not a
            ``Group``, or ``params`` has other values.
        ValueError: there is no parameter, or an option is out of its range.
        AssertionError: ``init_process_group`` was not called.
        RuntimeError: raised by ``step`` and ``state_dict`` if an exchange fails.
    Example:
        >>> import megengine.distributed as dist
        >>> from megengine.optimizer import Adam
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> w = Parameter([1.0, 2.0])
        >>> optimizer = dist.ShardedOptimizer(Adam, [w], lr=0.1)
        >>> w.grad = Tensor([1.0, 1.0])
        >>> optimizer.step().clear_grad()
        >>> w
        Parameter([0.9 1.9], device=xpux:0)
    """

    def __init__(
        self,
        optimizer_class: type[Optimizer],
        params: Iterable[Parameter] | dict,
        group: Group | None = WORLD,
        *,
        bucket_bytes: int = _BUCKET_BYTES,
        **options: Any,
    ) -> None:
        if not (isinstance(optimizer_class, type) and issubclass(optimizer_class, Optimizer)):
            raise TypeError(
                f"[ShardedOptimizer] optimizer_class must be a subclass of Optimizer, got "
                f"{optimizer_class!r}"
            )
        self._group = _as_group(group)
        self._count, self._rank = self._group.size, self._group.rank
        self._class, self._options = optimizer_class, options
        self._is_elementwise = optimizer_class in _ELEMENTWISE
        self._bucket_bytes = bucket_bytes
        self._inner: Optimizer | None = None
        self._buckets: list[_Bucket] = []
        self._divided: list[list[_Divided]] = []  # by parameter group
        super().__init__(params, {})

    def _create_state(self, param_group: dict) -> None:
        params = param_group["params"]
        split, divided = self._split_elements, []
        if not self._is_elementwise:
            split, divided = self._split_parameters, self._too_large(params)
        large = {id(d.param) for d in divided}
        buckets = split([p for p in params if id(p) not in large])
        self._buckets += buckets
        self._divided.append(divided)
        options = {name: value for name, value in param_group.items() if name != "params"}
        owned = {**options, "params": [piece.own for b in buckets for piece in b.pieces]}
        if self._inner is None:
            self._inner = self._class([owned], **self._options)
        else:
            self._inner.add_param_group(owned)
        for option, value in self._inner.param_groups[-1].items():
            if option != "params":
                param_group[option] = value
        for entry in divided:
            self._inner._create_state({**param_group, "params": [entry.param]})
            self._keep_part(entry, self._inner._state.pop(entry.param))

    def _split_elements(self, params: list[Parameter]) -> list[_Bucket]:
        """Give each process an equal part of the elements of each bucket."""
        return [self._split_bucket(bucket) for bucket in self._divide_by_bytes(params)]

    def _divide_by_bytes(self, params: list[Parameter]) -> Iterator[list[Parameter]]:
        by_kind: dict = {}
        for param in params:
            dtype = np.dtype(param.dtype)
            bucket = by_kind.setdefault((dtype.name, param.device), [])
            bucket.append(param)
            if sum(map(_size, bucket)) * dtype.itemsize >= self._bucket_bytes:
                yield by_kind.pop((dtype.name, param.device))
        yield from by_kind.values()

    def _split_bucket(self, params: list[Parameter]) -> _Bucket:
        bucket = _Bucket(self._chunk_of(sum(map(_size, params))), [])
        first, last = self._rank * bucket.chunk, (self._rank + 1) * bucket.chunk
        at = 0
        for param in params:
            size = _size(param)
            bucket.places.append((param, at))
            begin, end = max(first - at, 0), min(last - at, size)
            if begin < end:
                part = _flat(param)[begin:end] if end - begin < size else _flat(param)
                own = Parameter(part.numpy(), device=param.device, dtype=param.dtype)
                bucket.pieces.append(_Piece(param, begin, end, own))
            at += size
        return bucket

    def _chunk_of(self, size: int) -> int:
        """Elements of each process."""
        return -(-size // (self._count * _ALIGNMENT)) * _ALIGNMENT

    def _assign(self, params: list[Parameter]) -> list[list[Parameter]]:
        """Whole parameters for each process, about equal sizes."""
        owned: list[list[Parameter]] = [[] for _ in range(self._count)]
        sizes = [0] * self._count
        for param in sorted(params, key=_size, reverse=True):
            least = sizes.index(min(sizes))
            owned[least].append(param)
            sizes[least] += _size(param)
        return owned

    def _too_large(self, params: list[Parameter]) -> list[_Divided]:
        """The largest parameters, so that the rest can be given to processes in equal parts."""
        if self._count == 1:
            return []
        rest, divided = sorted(params, key=_size), []
        mean = sum(map(_size, params)) / self._count
        while rest:
            spread = sum(entry.chunk for entry in divided)
            largest = max(sum(map(_size, owned)) for owned in self._assign(rest))
            if spread + largest <= _LARGEST_SHARE * mean:
                break
            param = rest.pop()
            divided.append(_Divided(param, self._chunk_of(_size(param))))
        return divided

    def _split_parameters(self, params: list[Parameter]) -> list[_Bucket]:
        """Give each process whole parameters."""
        assigned, buckets = self._assign(params), []
        for kind in dict.fromkeys((np.dtype(p.dtype).name, p.device) for p in params):
            owned = [
                [p for p in mine if (np.dtype(p.dtype).name, p.device) == kind] for mine in assigned
            ]
            bucket = _Bucket(max(sum(map(_size, mine)) for mine in owned), [])
            for rank, mine in enumerate(owned):
                at = rank * bucket.chunk
                for param in mine:
                    bucket.places.append((param, at))
                    at += _size(param)
            bucket.pieces = [_Piece(p, 0, _size(p), p) for p in owned[self._rank]]
            buckets.append(bucket)
        return buckets

    def _updates(self, param_group: dict) -> None:
        """``step`` does it for all groups."""

    def step(self) -> "ShardedOptimizer":
        """Update all parameters that have a gradient; they are the same ones in all processes.

        Returns:
            The optimizer.
        """
        for outer, inner in zip(self.param_groups, self._inner.param_groups, strict=True):
            inner.update({name: v for name, v in outer.items() if name != "params"})
        for piece in self._pieces():
            if piece.own is not piece.param and piece.param.grad is not None:
                # The value may have been changed since the last step.
                piece.own._reset(_flat(piece.param)[piece.begin : piece.end])
                piece.own.grad = _flat(piece.param.grad)[piece.begin : piece.end]
        self._inner.step()
        for group, divided in zip(self.param_groups, self._divided, strict=True):
            for entry in divided:
                if entry.param.grad is not None:
                    self._step_divided(entry, group)
        for bucket in self._buckets:
            self._share_values(bucket)
        for piece in self._pieces():
            if piece.own is not piece.param:
                piece.own.grad = None
        return self

    def _pieces(self) -> Iterator[_Piece]:
        return (piece for bucket in self._buckets for piece in bucket.pieces)

    def _share_values(self, bucket: _Bucket) -> None:
        if all(param.grad is None for param, _ in bucket.places):
            return
        if self._count == 1 and not self._is_elementwise:
            return
        values = self._gathered([_flat(piece.own) for piece in bucket.pieces], bucket)
        owned = {id(piece.own) for piece in bucket.pieces}
        for param, at in bucket.places:
            if param.grad is not None and id(param) not in owned:
                new = values[at : at + _size(param)]
                param._reset(_mge.ops.reshape(new, shape=list(param._tuple_shape)))

    def _gathered(self, mine: list[Tensor], bucket: _Bucket) -> Tensor:
        """The elements of all processes in one vector."""
        like = bucket.places[0][0]
        missing = bucket.chunk - sum(map(_size, mine))
        if missing or not mine:
            dtype = mine[0].dtype if mine else like.dtype
            mine = [*mine, Tensor(np.zeros(missing, np.float32), device=like.device).astype(dtype)]
        return self._all_gather(_mge.ops.concat(*mine) if len(mine) > 1 else mine[0])

    def _all_gather(self, mine: Tensor) -> Tensor:
        return _mge.ops.collective(
            mine, mode="all_gather", ranks=self._group._ranks(), rank=self._group.rank
        )

    def _step_divided(self, entry: _Divided, param_group: dict) -> None:
        shape = list(entry.param._tuple_shape)
        states = dict(entry.states)
        for name in sorted(entry.divided):
            whole = self._all_gather(entry.states[name])[: _size(entry.param)]
            states[name] = _mge.ops.reshape(whole, shape=shape)
        self._inner._state[entry.param] = states
        self._inner._updates({**param_group, "params": [entry.param]})
        self._keep_part(entry, self._inner._state.pop(entry.param))

    def _keep_part(self, entry: _Divided, states: dict[str, Tensor]) -> None:
        """Keep this process's elements of a state of a whole parameter."""
        size = _size(entry.param)
        for name, state in states.items():
            if _size(state) != size or size == 1:
                entry.states[name] = state
                continue
            part = _flat(state)[self._rank * entry.chunk : (self._rank + 1) * entry.chunk]
            missing = entry.chunk - _size(part)
            if missing:
                part = _mge.ops.concat(
                    part, Tensor(np.zeros(missing, np.float32), device=part.device)
                )
            if name in entry.states:
                entry.states[name]._reset(part)
            else:
                entry.states[name] = Tensor(part.numpy(), no_cache=True, device=part.device)
                entry.divided.add(name)

    def state_parts(self) -> Iterator["StatePart"]:
        """The parts of the state that this process has.

        A part that several processes have, such as the number of steps, comes from each.

        Example:
            >>> import megengine.distributed as dist
            >>> from megengine.optimizer import Adam
            >>> dist.init_process_group("localhost", 0, 1, 0, 0)
            >>> optimizer = dist.ShardedOptimizer(Adam, [Parameter([1.0, 2.0])], lr=0.1)
            >>> [(part.parameter, part.name, part.shape) for part in optimizer.state_parts()]
            [(0, 'exp_avg', (2,)), (0, 'exp_avg_sq', (2,)), (0, 'step', ())]
        """
        number = {id(param): k for k, param in enumerate(self._get_params())}
        for piece in self._pieces():
            whole = _size(piece.own) == _size(piece.param)
            for name, state in self._inner._state.get(piece.own, {}).items():
                is_divided = not whole and state._tuple_shape == piece.own._tuple_shape
                shape = piece.param._tuple_shape if is_divided or whole else state._tuple_shape
                if whole and _size(state) != _size(piece.param):
                    shape = state._tuple_shape
                begin = piece.begin if is_divided else 0
                yield StatePart(number[id(piece.param)], name, begin, shape, state)
        for entry in (entry for divided in self._divided for entry in divided):
            for name, state in entry.states.items():
                place = number[id(entry.param)]
                if name not in entry.divided:
                    yield StatePart(place, name, 0, state._tuple_shape, state)
                    continue
                begin = self._rank * entry.chunk
                end = min(begin + entry.chunk, _size(entry.param))
                if begin < end:
                    shape = entry.param._tuple_shape
                    yield StatePart(place, name, begin, shape, state[: end - begin])

    def state_dict(self, keep_var: bool = False) -> dict:
        """Return options and the whole state, in all processes.

        All processes of the group call it. The result is that of the optimizer itself, so it can be
        loaded into one, or for another number of processes.

        Args:
            keep_var: state as Tensors instead of NumPy arrays.
        """
        parts = list(self.state_parts())
        header = json.dumps([[p.parameter, p.name, p.begin, list(p.shape)] for p in parts])
        arrays = [np.float32(p.value.numpy()).reshape(-1) for p in parts]
        counts = json.dumps([len(array) for array in arrays])
        values = b"".join(array.tobytes() for array in arrays)
        state: dict = {}
        for text, lengths, data in zip(
            *(self._gather_bytes(b) for b in (header.encode(), counts.encode(), values)),
            strict=True,
        ):
            at = 0
            elements = np.frombuffer(data, np.float32)
            for (number, name, begin, shape), count in zip(
                json.loads(text), json.loads(lengths), strict=True
            ):
                states = state.setdefault(number, {})
                if name not in states:
                    states[name] = np.zeros(shape, np.float32)
                states[name].reshape(-1)[begin : begin + count] = elements[at : at + count]
                at += count
        groups = super().state_dict()["param_groups"]
        params = self._get_params()
        if keep_var:
            for number, states in state.items():
                device = params[number].device
                states.update({k: Tensor(v, device=device) for k, v in states.items()})
        return {"param_groups": groups, "state": dict(sorted(state.items()))}

    def _gather_bytes(self, mine: bytes) -> list[bytes]:
        sizes = self._all_gather(Tensor(np.array([len(mine)], np.int32))).numpy()
        padded = np.zeros(max(1, int(sizes.max())), np.uint8)
        padded[: len(mine)] = np.frombuffer(mine, np.uint8)
        rows = self._all_gather(Tensor(padded)).numpy().reshape(self._count, -1)
        return [row[:size].tobytes() for row, size in zip(rows, sizes, strict=True)]

    def load_state_dict(self, state: dict) -> None:
        """Restore the state from ``state_dict`` of this class or of the optimizer itself.

        Args:
            state: the dictionary, with the whole state.
        Raises:
            ValueError: groups, their sizes or their options differ.
        """
        super().load_state_dict(state)
        whole, self._state = self._state, {}
        by_number = {k: whole.get(param, {}) for k, param in enumerate(self._get_params())}

        def read(number: int, name: str, begin: int, end: int | None) -> np.ndarray:
            value = by_number[number][name].numpy()
            return value if end is None else value.reshape(-1)[begin:end]

        self.load_state_parts(read)

    def load_state_parts(self, read: Callable[[int, str, int, int | None], np.ndarray]) -> None:
        """Restore the state of this process alone.

        Args:
            read: called with the number of a parameter, the name of a state, and the first and the
                last element plus one, or 0 and None for all of them; returns the elements.
        Example:
            >>> import megengine.distributed as dist
            >>> from megengine.optimizer import SGD
            >>> dist.init_process_group("localhost", 0, 1, 0, 0)
            >>> w = Parameter([1.0, 2.0])
            >>> optimizer = dist.ShardedOptimizer(SGD, [w], lr=0.1, momentum=0.9)
            >>> saved = {(0, "momentum_buffer"): np.array([3.0, 4.0], np.float32)}
            >>> def read(number, name, begin, end):
            ...     return saved[number, name][begin:end]
            >>> optimizer.load_state_parts(read)
            >>> optimizer.state_dict()["state"][0]["momentum_buffer"]
            array([3., 4.], dtype=float32)
        """
        number = {id(param): k for k, param in enumerate(self._get_params())}
        for piece in self._pieces():
            place = number[id(piece.param)]
            whole = _size(piece.own) == _size(piece.param)
            for name, state in self._inner._state.get(piece.own, {}).items():
                is_divided = not whole and state._tuple_shape == piece.own._tuple_shape
                bounds = (piece.begin, piece.end) if is_divided else (0, None)
                _set_values(state, read(place, name, *bounds))
        for entry in (entry for divided in self._divided for entry in divided):
            place, size = number[id(entry.param)], _size(entry.param)
            for name, state in entry.states.items():
                if name not in entry.divided:
                    _set_values(state, read(place, name, 0, None))
                    continue
                begin = min(self._rank * entry.chunk, size)
                values = np.zeros(entry.chunk, np.float32)
                end = min(begin + entry.chunk, size)
                values[: end - begin] = read(place, name, begin, end)
                _set_values(state, values)


@dataclass
class StatePart:
    """Elements of one state of a parameter.

    Args:
        parameter: number of the parameter among those of the optimizer.
        name: name of the state.
        begin: the first element.
        shape: shape of the whole state.
        value: the elements.
    """

    parameter: int
    name: str
    begin: int
    shape: tuple[int, ...]
    value: Tensor


def _set_values(state: Tensor, values: np.ndarray) -> None:
    array = np.array(values, np.float32).reshape(state._tuple_shape)
    state._reset(Tensor(array, no_cache=True, device=state.device))
