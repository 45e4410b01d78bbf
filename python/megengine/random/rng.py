# SPDX-License-Identifier: Apache-2.0
"""Streams of random numbers on devices.

A stream is a Tensor of two int32 words, a key and a counter. Drawing gives the state to the
operator and steps the counter on; so a stream works under a trace as any other Tensor does.
"""

import functools
import math
import os
import time
from collections.abc import Callable, Sequence

import numpy as np

from .. import _mge
from ..core.operands import beside, is_whole
from ..core.random_turn import keep_turn, turn
from ..core.tensor.extents import extent, extents_follow
from ..core.tensor.shape_arguments import as_int, known_or_symbolic
from ..tensor import Tensor

# Each DataLoader draws the seeds of its workers from this generator; None: not created yet.
_host_rng = None


def _first_words(key: int) -> np.ndarray:
    """Key and counter of a stream at its start; 64-bit keys that differ give words that differ."""
    low, high = key & 0xFFFFFFFF, key >> 32
    # The factors are odd, so each high word has its own counter. Neighbouring ones are far apart.
    words = low ^ (high * 0x85EBCA6B & 0xFFFFFFFF), high * 0x9E3779B1 & 0xFFFFFFFF
    return np.array(words, np.uint32).view(np.int32)


class _Stream:
    def __init__(self, key: int, device=None):
        self._state = Tensor(_first_words(key), device=device, no_cache=True)
        _mge.outlive_recordings(self._state)
        self._step = Tensor(np.array([0, 1], np.int32), device=device)
        self._process = os.getpid()

    @property
    def device(self):
        return self._state.device

    @property
    def words(self) -> list[int]:
        """Key and counter."""
        return self._state.numpy().tolist()

    @words.setter
    def words(self, words: Sequence[int]) -> None:
        self._state._reset(Tensor(np.array(words, np.int32), device=self.device, no_cache=True))

    def is_usable(self) -> bool:
        """False in a process forked from that of the stream: it may not reach the device."""
        return self._process == os.getpid()

    def draw(self) -> Tensor:
        """The state for one operator; the next one gets another."""
        with turn():
            _mge.mark_stream(self._state)
            state = Tensor(self._state)
            keep_turn(self._state, state)
            self._state._reset(_mge.ops.add(self._state, self._step))
            return state


def _number(value, who: str, name: str) -> float:
    is_one = isinstance(value, (Tensor, np.ndarray)) and math.prod(value.shape) == 1
    assert is_one or isinstance(value, (float, int, np.number)), (
        f"[{who}] {name} must be a number, got {type(value).__name__}"
    )
    return float(value.item() if is_one else value)


class RNG:
    """A stream of random numbers.

    Args:
        seed: equal seeds give equal numbers; None: the shared stream.
        device: device of the numbers; None: the default device.
    Example:
        >>> a, b = RNG(seed=1), RNG(seed=1)
        >>> float(a.uniform()) == float(b.uniform())
        True
    """

    def __init__(self, seed: int | None = None, device=None):
        self._device = device
        self._seed = None if seed is None else _checked_seed(seed, "RNG")
        self._stream = None if seed is None else _Stream(self._seed, device)

    def get_state(self) -> list[int] | dict:
        """Return the state of the stream.

        Returns:
            Two numbers; for the shared stream the result of ``get_rng_state``.
        Example:
            >>> RNG(seed=5).get_state()
            [5, 0]
        """
        return get_rng_state() if self._stream is None else self._stream.words

    def set_state(self, state: list[int] | dict) -> None:
        """Restore the state of the stream.

        Args:
            state: the result of ``get_state``.
        Raises:
            ValueError: it is not such a state.
        Example:
            >>> a, b = RNG(seed=5), RNG(seed=6)
            >>> b.set_state(a.get_state())
            >>> float(a.uniform()) == float(b.uniform())
            True
        """
        if self._stream is None:
            return set_rng_state(state)
        self._stream.words = _checked_words(state)

    def _next_state(self, *operands: Tensor) -> Tensor:
        """The state for one operator: of this stream, else of the shared one on the operands'
        device."""
        if self._stream is not None:
            return self._stream.draw()
        return next_state(operands[0].device if operands else self._device)

    def uniform(self, low: float = 0, high: float = 1, size=None) -> Tensor:
        """Draw from the uniform distribution on [low, high).

        Args:
            low: lower bound.
            high: upper bound, above ``low``.
            size: shape; None: (1,).
        Returns:
            float32 Tensor.
        Raises:
            AssertionError: a bound is not a number, or ``low`` is not below ``high``.
        Example:
            >>> default_rng.uniform(size=(2, 3)).shape
            (2, 3)
        """
        low, high = _number(low, "uniform", "low"), _number(high, "uniform", "high")
        assert low < high, f"[uniform] low must be below high, got {low} and {high}"
        shape = _shape(size, "uniform")
        return _mge.ops.uniform(self._next_state(), **shape, low=low, high=high)

    def normal(self, mean: float = 0, std: float = 1, size=None) -> Tensor:
        """Draw from a normal distribution.

        Args:
            mean: its mean.
            std: its standard deviation.
            size: shape; None: (1,).
        Returns:
            float32 Tensor.
        Raises:
            AssertionError: a parameter is not a number.
            TypeError: ``size`` is not a tuple.
        Example:
            >>> default_rng.normal(size=(2, 3)).shape
            (2, 3)
        """
        mean, std = _number(mean, "normal", "mean"), _number(std, "normal", "std")
        shape = _shape(size, "normal")
        return _mge.ops.normal(self._next_state(), **shape, mean=mean, std=std)

    def permutation(self, n: int | Tensor, *, dtype="int32") -> Tensor:
        """The numbers below ``n``, or the rows of a Tensor, in random order.

        Args:
            n: how many, or the Tensor; one of rank 0 is a single row, not a count, except for a
                size in a trace (``x.shape[0]``).
            dtype: dtype of the numbers.
        Returns:
            Vector of n numbers, or a Tensor of the shape of ``n`` on its device.
        Raises:
            AssertionError: ``n`` is negative, or neither an integer nor a Tensor.
        Example:
            >>> default_rng.permutation(3).shape
            (3,)
        """
        if isinstance(n, Tensor) and not n.ndim and _mge.shape_arguments(n):
            return _mge.ops.permutation(self._next_state(), n, dtype=dtype)
        if isinstance(n, Tensor):
            n = n if n.ndim else _mge.ops.reshape(n, shape=[1])
            order = _mge.ops.permutation(self._next_state(n), extent(n, 0))
            if order.device != n.device:  # the stream's device
                order = order.to(n.device)
            return _mge.ops.take(n, order, axes=[0])
        assert is_whole(n), f"[permutation] n must be an integer or a Tensor, got {n!r}"
        count = as_int(n, "permutation", "n")
        assert count >= 0, f"[permutation] n must not be negative, got {count}"
        return _mge.ops.permutation(self._next_state(), n=count, dtype=dtype)

    def shuffle(self, inp: Tensor) -> None:
        """Shuffle the rows of a Tensor in place.

        Args:
            inp: rank 1 or more.
        Raises:
            AssertionError: the rank is 0.
            TypeError: it is not a Tensor.
        Example:
            >>> rows = Tensor([[1, 1], [2, 2], [3, 3]])
            >>> RNG(seed=5).shuffle(rows)
            >>> sorted(rows[:, 0].tolist())
            [1, 2, 3]
        """
        if not isinstance(inp, Tensor):
            raise TypeError(f"[shuffle] expected a Tensor, got {type(inp).__name__}")
        assert inp.ndim > 0, "[shuffle] the rank must be at least 1"
        inp._reset(self.permutation(inp))

    def exponential(self, rate: float | Tensor = 1.0, size=None) -> Tensor:
        """Draw from the exponential distribution.

        Args:
            rate: inverse of the mean, positive; a number or a Tensor.
            size: leading shape, before that of ``rate``; None: no leading shape.
        Returns:
            float32 Tensor.
        Raises:
            AssertionError: ``rate`` is not positive, or is on another device than the stream.
        Example:
            >>> default_rng.exponential(2.0, size=(4,)).shape
            (4,)
        """
        (rate,) = self._spread("exponential", size, rate=rate)
        state = self._next_state(rate)
        drawn = _mge.ops.uniform(state, _mge.ops.shape_of(rate), low=0.0, high=1.0)
        # The numbers are in [0, 1): one minus them is never zero.
        return _mge.ops.div(_mge.ops.neg(_mge.ops.log(_mge.ops.sub(1.0, drawn))), rate)

    def gamma(self, shape: float | Tensor, scale: float | Tensor = 1, size=None) -> Tensor:
        """Draw from gamma distributions.

        Args:
            shape: the shape, positive; a number or a Tensor. Their mean is ``shape * scale``.
            scale: the scale, positive; a number or a Tensor that broadcasts with ``shape``.
            size: leading shape, before that of the parameters; None: no leading shape.
        Returns:
            float32 Tensor, of shape (1,) for numbers without ``size``. It is 0 where an element of
            a Tensor is not positive.
        Raises:
            AssertionError: a number is not positive, or a Tensor is on another device than the
                stream.
        Example:
            >>> default_rng.gamma(Tensor([1.0, 2.0]), Tensor([[1.0], [3.0]]), size=(4,)).shape
            (4, 2, 2)
        """
        shape, scale = _with_rank(self._spread("gamma", size, shape=shape, scale=scale))
        return _mge.ops.gamma(self._next_state(shape), shape, scale)

    def beta(self, alpha: float | Tensor, beta: float | Tensor, size=None) -> Tensor:
        """Draw from beta distributions.

        Args:
            alpha: positive; a number or a Tensor. Their mean is ``alpha / (alpha + beta)``.
            beta: positive; a number or a Tensor that broadcasts with ``alpha``.
            size: leading shape, before that of the parameters; None: no leading shape.
        Returns:
            float32 Tensor, of shape (1,) for numbers without ``size``. It is 0 where an element of
            a Tensor is not positive.
        Raises:
            AssertionError: a number is not positive, or a Tensor is on another device than the
                stream.
        Example:
            >>> default_rng.beta(2.0, Tensor([1.0, 3.0])).shape
            (2,)
        """
        alpha, beta = _with_rank(self._spread("beta", size, alpha=alpha, beta=beta))
        return _mge.ops.beta(self._next_state(alpha), alpha, beta)

    def poisson(self, lam: float | Tensor, size=None) -> Tensor:
        """Draw from Poisson distributions.

        Args:
            lam: the mean, positive; a number or a Tensor.
            size: leading shape, before that of ``lam``; None: no leading shape.
        Returns:
            float32 Tensor of integers, of shape (1,) for a number without ``size``. It is 0 where
            an element of a Tensor is not positive.
        Raises:
            AssertionError: a number is not positive, or a Tensor is on another device than the
                stream.
        Example:
            >>> default_rng.poisson(4.0, size=(2, 3)).shape
            (2, 3)
        """
        (lam,) = _with_rank(self._spread("poisson", size, lam=lam))
        return _mge.ops.poisson(self._next_state(lam), lam)

    def multinomial(self, input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
        """Draw categories by their weights.

        Args:
            input: weights, not negative; float32 or float16 of shape (n,), or (m, n) for m
                distributions. They need not sum to 1.
            num_samples: draws from each distribution.
            replacement: a category may be drawn again.
        Returns:
            int32 Tensor of positions, (num_samples,) or (m, num_samples), in the order in which
            they were drawn.
        Raises:
            AssertionError: the weights are of another shape or dtype, ``num_samples`` is not
                positive, or more than n without replacement.
            RuntimeError: a weight is negative or no number, or too few are above 0.
        Example:
            >>> default_rng.multinomial(Tensor([0.0, 2.0]), 3, replacement=True)
            Tensor([1 1 1], dtype=int32, device=xpux:0)
        """
        assert isinstance(input, Tensor), (
            f"[multinomial] the weights must be a Tensor, got {type(input).__name__}"
        )
        self._check_device("multinomial", "input", input)
        count = as_int(num_samples, "multinomial", "num_samples")
        return _mge.ops.multinomial(
            self._next_state(input), input, num_samples=count, replacement=bool(replacement)
        )

    def _check_device(self, who: str, name: str, value: Tensor) -> None:
        if self._stream is not None:
            there = self._stream.device
            assert value.device == there, f"[{who}] {name} is on {value.device}, not on {there}"

    def _spread(self, who: str, size, **parameters: float | Tensor) -> list[Tensor]:
        """Parameters as float32 Tensors of one shape: ``size``, then their broadcast shape."""
        values = []
        there = self._stream.device if self._stream else self._device
        with beside(*parameters.values()):
            for name, value in parameters.items():
                if isinstance(value, Tensor):
                    self._check_device(who, name, value)
                else:
                    assert value > 0, f"[{who}] {name} must be positive, got {value}"
                    value = Tensor(float(value), device=there)
                values.append(_mge.ops.convert(value, dtype="float32"))
        together = np.broadcast_shapes(*(value._tuple_shape for value in values))
        front, target = known_or_symbolic(() if size is None else size, who)
        follows = bool(together) and extents_follow(*values)
        if target is None and not follows:
            shape = [*front, *together]
            return [_mge.ops.broadcast_to(value, shape=shape) for value in values]
        if target is None:
            target = Tensor(np.array(front, np.int32), device=values[0].device)
        if together:
            whole = functools.reduce(_mge.ops.add, values)
            ends = _mge.ops.shape_of(whole) if follows else np.array(together, np.int32)
            target = _mge.ops.concat(target, ends, axis=0)
        return [_mge.ops.broadcast_to(value, target) for value in values]


def _with_rank(values: list[Tensor]) -> list[Tensor]:
    return [value if value.ndim else _mge.ops.reshape(value, shape=[1]) for value in values]


def _checked_seed(seed: int, who: str) -> int:
    number = as_int(seed, who, "seed")
    if number < 0:
        raise ValueError(f"[{who}] the seed must not be negative, got {number}")
    if number >= 1 << 64:
        raise TypeError(f"[{who}] the seed must be below 2**64, got {number}")
    return number


def _infer_broadcasted_shape(inps) -> tuple[int, ...]:
    return tuple(np.broadcast_shapes(*(value._tuple_shape for value in inps)))


def _broadcast_tensors_with_size(inps, size) -> list[Tensor]:
    """Tensors broadcast to the shape of the samples: ``size``, then their broadcast shape."""
    front = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    shape = [*front, *_infer_broadcasted_shape(inps)]
    return [_mge.ops.broadcast_to(value, shape=shape) for value in inps]


def _random_seed_generator():
    while True:
        yield host_seed()


def _default_rng() -> RNG:
    return RNG()


def _shape(size, who: str) -> dict:
    """The shape argument of an operator; None is (1,)."""
    if who == "normal" and isinstance(size, int):
        raise TypeError("[normal] size must be a tuple of ints, got int")
    shape, target = known_or_symbolic((1,) if size is None else size, who)
    return {"shape": shape} if target is None else {"target": target}


_streams: dict[str, _Stream] = {}


def seed_of_time() -> int:
    """A seed that differs between programs that start at different times."""
    return abs(int(time.time()))  # a wrong clock may be before 1970


_seed = seed_of_time()


def next_state(device=None) -> Tensor:
    """The state for one random operator from the stream of a device (None: the default one)."""
    key = str(_mge.Device(device))
    with turn():
        if key not in _streams:
            _streams[key] = _Stream(_seed, key)
        return _streams[key].draw()


def kept_streams() -> Callable[[], None]:
    """A function that restores the shared streams to their current states."""
    states = {key: Tensor(stream._state) for key, stream in _streams.items()}

    def restore() -> None:
        for key in list(_streams):
            if key in states:
                _streams[key]._state._reset(states[key])
            else:
                del _streams[key]

    return restore


def seed(seed: int) -> None:
    """Seed the shared stream, and that of the DataLoaders' workers.

    Args:
        seed: equal seeds give equal numbers.
    Raises:
        TypeError: it is not a number, or not below 2**64.
        ValueError: it is negative.
    Example:
        >>> seed(1)
    """
    global _seed, _host_rng
    _seed = _checked_seed(seed, "seed")
    with turn():
        for device, stream in list(_streams.items()):
            if stream.is_usable():  # it stays the object that recorded functions know
                stream.words = _first_words(_seed)
            else:
                del _streams[device]
    _host_rng = None


def _host_generator():
    global _host_rng
    if _host_rng is None:  # numpy.random takes a tenth of the package's time to import
        _host_rng = np.random.MT19937(_seed)
    return _host_rng


def _checked_words(words) -> list[int]:
    fits = isinstance(words, (list, tuple)) and len(words) == 2
    if not fits or not all(type(w) is int and -(1 << 31) <= w < 1 << 31 for w in words):
        raise ValueError(f"[set_state] a state is two int32 numbers, got {words!r}")
    return list(words)


def get_rng_state() -> dict:
    """Return the state of all shared random sources: the streams, and the workers' seeds.

    Returns:
        A dict of plain data for ``set_rng_state``; ``megengine.save`` writes it.
    Example:
        >>> state = get_rng_state()
        >>> x = default_rng.uniform()
        >>> set_rng_state(state)
        >>> float(default_rng.uniform()) == float(x)
        True
    """
    host = _host_generator().state["state"]
    return {
        "seed": _seed,
        "streams": {device: stream.words for device, stream in _streams.items()},
        "host": {"key": host["key"].copy(), "position": int(host["pos"])},
    }


def set_rng_state(state: dict) -> None:
    """Restore the state of all shared random sources, in this process or another.

    Args:
        state: the result of ``get_rng_state``.
    Raises:
        ValueError: it is not such a state.
    Example:
        >>> import megengine as mge
        >>> mge.save({"rng": get_rng_state()}, "checkpoint.pkl")
        >>> x = default_rng.normal(size=(2,))
        >>> set_rng_state(mge.load("checkpoint.pkl")["rng"])
        >>> bool((default_rng.normal(size=(2,)) == x).min())
        True
    """
    global _seed
    try:
        number, words, host = int(state["seed"]), dict(state["streams"]), state["host"]
        key, position = np.asarray(host["key"], np.uint32), int(host["position"])
        if key.shape != (624,) or not 0 <= position <= 624:
            raise ValueError("the state of the workers' seeds is damaged")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"[set_rng_state] this is not a state from get_rng_state: {error}"
        ) from None
    words = {device: _checked_words(value) for device, value in words.items()}
    _seed = number
    for device in [d for d in _streams if d not in words]:
        del _streams[device]
    for device, value in words.items():
        # Streams stay the objects that traces know.
        _streams.setdefault(device, _Stream(number, device)).words = value
    generator = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
    _host_generator().state = generator


def host_seed() -> int:
    """A random number for the seeds of workers."""
    return int(np.random.Generator(_host_generator()).integers(0, 2**31 - 1))


default_rng = _default_handle = RNG()
uniform = default_rng.uniform
normal = default_rng.normal
permutation = default_rng.permutation
shuffle = default_rng.shuffle
exponential = default_rng.exponential
gamma = default_rng.gamma
beta = default_rng.beta
poisson = default_rng.poisson
multinomial = default_rng.multinomial
seed(_seed)
