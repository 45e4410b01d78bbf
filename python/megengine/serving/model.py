# SPDX-License-Identifier: Apache-2.0
"""A model file as servers need it: descriptions of its tensors, checked inputs, batches."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from megenginelite import LiteConfig, LiteGlobal, LiteNetwork
from megenginelite.struct import LiteAlgoSelectStrategy, LiteDeviceType, LiteTensorPhase

_CIPHER = "aes-256-gcm"
DEFAULT_MAX_BATCH = 32
_MAX_KNOWN_SHAPES = 4096
# Lite keeps one key and one cache for the process, and servers load several models at once.
_loading = threading.Lock()
_DEVICES = {"cpu": LiteDeviceType.LITE_CPU, "cuda": LiteDeviceType.LITE_CUDA}

# Names of element types in the Open Inference Protocol, including UINT64, which Lite does not have.
PROTOCOL_NAMES = {"bool": "BOOL"}
PROTOCOL_NAMES |= {f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)}
PROTOCOL_NAMES |= {
    f"{kind}{bits}": f"{kind.upper()}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class TensorInfo:
    """The description of an input or output.

    Args:
        name: its name in the model.
        dtype: its element type.
        shape: its sizes; an open dimension is its name in the file, or None without one.
    Example:
        >>> info = TensorInfo("data", np.dtype("float32"), ("batch", 3, None))
        >>> info.datatype, info.sizes, info.dimensions
        ('FP32', [-1, 3, -1], 'batch, 3, ?')
    """

    name: str
    dtype: np.dtype
    shape: tuple[int | str | None, ...]

    @property
    def datatype(self) -> str:
        """The element type's name in the Open Inference Protocol, such as ``"FP32"``."""
        return PROTOCOL_NAMES[self.dtype.name]

    @property
    def sizes(self) -> list[int]:
        """The shape in the Open Inference Protocol: -1 for an open dimension."""
        return [size if isinstance(size, int) else -1 for size in self.shape]

    @property
    def dimensions(self) -> str:
        """The shape as text with the names of open dimensions: ``"batch, 3, ?"``."""
        return ", ".join("?" if size is None else str(size) for size in self.shape)


class ServedModel:
    """A model that checks its inputs and runs batches. Several threads may use it.

    Args:
        path: a model file of any kind that Lite reads.
        key_file: file with the key of an encrypted model, as ``mge-crypt keygen`` writes it.
        threads: number of CPU threads; 0: all that this process may use.
        fast_run_cache: file of measured algorithm times, which is read and extended.
        device: ``"cpu"``, or ``"cuda"`` for the first NVIDIA GPU.
        max_batch: largest number of rows of a run; None: 32, or 1 without a batch dimension.
    Attributes:
        inputs, outputs: lists of TensorInfo.
        has_batch: True if all inputs and outputs have the batch as first dimension, and no row
            depends on another.
        plan_cache_misses: the number of runs whose input shapes were new.
    Raises:
        OSError: a file cannot be read.
        RuntimeError: the model is damaged, needs another key, or fails to run.
        ValueError: the key is not hexadecimal, or ``max_batch`` is above 1 for a model without a
            batch dimension.
    Example:
        >>> from megengine.jit import trace
        >>> double = trace(lambda x: x * 2, symbolic=True, capture_as_const=True)
        >>> _ = double(Tensor([[1.0, 2.0]]))
        >>> _ = double.dump("double.mge", arg_names=["x"], output_names=["y"])
        >>> model = ServedModel("double.mge")
        >>> model.inputs[0].shape
        ('batch', 2)
        >>> model.run({"x": np.ones((1, 2), "float32")})["y"]
        array([[2., 2.]], dtype=float32)
        >>> model.batch_sizes
        [1, 2, 4, 8, 16, 32]
        >>> model.run_rows({"x": np.ones((70, 2), "float32")})["y"].shape
        (70, 2)
    """

    def __init__(
        self,
        path: str | Path,
        key_file: str | Path | None = None,
        threads: int = 0,
        fast_run_cache: str | Path | None = None,
        device: str = "cpu",
        max_batch: int | None = None,
    ) -> None:
        self.plan_cache_misses = 0
        self._path = path
        self._lock = threading.Lock()
        self._planned: set[tuple] = set()
        self._network = _load(path, key_file, threads, fast_run_cache, device, max_batch)
        names = self._network.get_all_input_name()
        self._input_tensors = {
            name: self._network.get_io_tensor(name, LiteTensorPhase.LITE_INPUT) for name in names
        }
        self._output_tensors = {
            name: self._network.get_io_tensor(name, LiteTensorPhase.LITE_OUTPUT)
            for name in self._network.get_all_output_name()
        }
        self.inputs = [
            TensorInfo(name, np.dtype(self._input_tensors[name].layout.dtype), shape)
            for name, shape in self._network.input_shapes.items()
        ]
        self._by_name = {info.name: info for info in self.inputs}
        self._sizes = {name: tensor.layout.shapes for name, tensor in self._input_tensors.items()}
        self.has_batch, self.outputs = self._describe_outputs()
        if (max_batch or 1) > 1:
            self.require_batch()
        self.max_batch = max_batch or (DEFAULT_MAX_BATCH if self.has_batch else 1)
        if self.has_batch:
            self._open_batches()

    @property
    def batch_sizes(self) -> list[int]:
        """The numbers of rows that are planned at the start: powers of two, and ``max_batch``."""
        powers = {2**power for power in range(self.max_batch.bit_length())}
        return sorted(powers | {self.max_batch}) if self.has_batch else [1]

    def require_batch(self) -> None:
        """Check that there is a batch dimension.

        Raises:
            ValueError: there is none.
        Example:
            >>> from megengine.jit import trace
            >>> double = trace(lambda x: x * 2, symbolic=True, capture_as_const=True)
            >>> _ = double(Tensor([[1.0, 2.0]]))
            >>> _ = double.dump("double.mge", arg_names=["x"])
            >>> ServedModel("double.mge").require_batch()
        """
        if not self.has_batch:
            raise ValueError(
                f"{self._path} has no batch dimension: the first dimension of an input or output "
                "is not the number of rows, or rows depend on each other"
            )

    def check(self, name: str, dtype: np.dtype, shape: Sequence[int]) -> None:
        """Check the name, element type and shape of an input.

        Args:
            name: of the input.
            dtype: its element type.
            shape: its sizes.
        Raises:
            ValueError: the model has no such input, or another type or shape.
        Example:
            >>> from megengine.jit import trace
            >>> double = trace(lambda x: x * 2, symbolic=True, capture_as_const=True)
            >>> _ = double(Tensor([[1.0, 2.0]]))
            >>> _ = double.dump("double.mge", arg_names=["x"])
            >>> ServedModel("double.mge").check("x", np.dtype("int32"), (1, 2))
            Traceback (most recent call last):
                ...
            ValueError: input 'x' is float32, got int32
        """
        info = self._by_name.get(name)
        if info is None:
            raise ValueError(f"there is no input {name!r}; inputs are {', '.join(self._by_name)}")
        if dtype != info.dtype:
            raise ValueError(f"input {name!r} is {info.dtype.name}, got {np.dtype(dtype).name}")
        fits = len(shape) == len(info.shape) and all(
            given == size if isinstance(size, int) else given > 0
            for given, size in zip(shape, info.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"input {name!r} is ({info.dimensions}), got {tuple(shape)}")
        most = max(self.max_batch, self._sizes[name][0]) if self.has_batch else 0
        if self.has_batch and shape[0] > most:
            raise ValueError(f"input {name!r} has {shape[0]} rows, at most {most}")

    def rows(self, arrays: Mapping[str, np.ndarray]) -> int:
        """Return the number of rows of a request whose arrays are checked.

        Args:
            arrays: arrays by the names of inputs.
        Returns:
            The size of the batch; 1 for a model without a batch dimension.
        Raises:
            ValueError: an input is missing, or named dimensions of inputs differ.
        Example:
            >>> from megengine.jit import trace
            >>> double = trace(lambda x: x * 2, symbolic=True, capture_as_const=True)
            >>> _ = double(Tensor([[1.0, 2.0]]))
            >>> _ = double.dump("double.mge", arg_names=["x"])
            >>> ServedModel("double.mge").rows({"x": np.ones((3, 2), "float32")})
            3
        """
        if missing := self._by_name.keys() - arrays.keys():
            raise ValueError(f"input {', '.join(sorted(missing))} is missing")
        sizes: dict[str, int] = {}
        for info in self.inputs:
            for axis, (name, size) in enumerate(
                zip(info.shape, arrays[info.name].shape, strict=True)
            ):
                key = "batch" if axis == 0 and self.has_batch else name
                if isinstance(key, str) and sizes.setdefault(key, size) != size:
                    raise ValueError(
                        f"dimension {key!r} is {sizes[key]} and, in input {info.name!r}, {size}"
                    )
        return sizes["batch"] if self.has_batch else 1

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute the outputs.

        Args:
            arrays: an array for each input; see ``check``.
        Returns:
            New arrays by the names of outputs.
        Raises:
            RuntimeError: the engine refuses the values, or memory is short.
            ValueError: an array does not fit.
        """
        for name, array in arrays.items():
            self.check(name, array.dtype, array.shape)
        self.rows(arrays)
        return self._run(arrays)

    def run_rows(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute the outputs of any number of rows, in batches of the planned sizes.

        Args:
            arrays: an array for each input.
        Returns:
            New arrays by the names of outputs.
        Raises:
            RuntimeError: the engine refuses the values, or memory is short.
            ValueError: an array does not fit, or the model has no batch dimension.
        """
        self.require_batch()
        rows = {len(array) for array in arrays.values()}
        if len(rows) != 1:
            raise ValueError(f"the inputs have {sorted(rows)} rows")
        left = range(rows.pop())
        pieces = []
        while left or not pieces:
            size = max(size for size in self.batch_sizes if size <= max(len(left), 1))
            part, left = left[:size], left[size:]
            # Without rows one row shows the shapes.
            chosen = {
                name: array[part.start : part.stop]
                if part
                else np.zeros_like(array, shape=(1, *array.shape[1:]))
                for name, array in arrays.items()
            }
            outputs = self.run(chosen)
            pieces.append({name: value[: len(part)] for name, value in outputs.items()})
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}

    def _run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        shapes = tuple(arrays[name].shape for name in self._input_tensors)
        with self._lock:
            if shapes not in self._planned:
                self.plan_cache_misses += 1
                if len(self._planned) >= _MAX_KNOWN_SHAPES:
                    self._planned.clear()
            for name, tensor in self._input_tensors.items():
                tensor.set_data_by_share(np.ascontiguousarray(arrays[name]))
            self._network.forward()
            self._network.wait()
            self._planned.add(shapes)
            return {name: tensor.to_numpy() for name, tensor in self._output_tensors.items()}

    def _sample(self, rows_factor: int, growth: int = 1) -> dict[str, np.ndarray]:
        """Inputs with the sizes in the file, or multiples of the first one or of open ones."""
        sample = {}
        for place, info in enumerate(self.inputs):
            sizes = [
                max(size, 1) * (1 if isinstance(name, int) else growth)
                for size, name in zip(self._sizes[info.name], info.shape, strict=True)
            ]
            # A generator for each input: more rows begin with those that fewer rows consist of.
            random = np.random.default_rng(place)
            values = 2 * random.random((rows_factor * sizes[0], *sizes[1:]))
            is_real = info.dtype.kind == "f"
            sample[info.name] = (values if is_real else values // 1).astype(info.dtype)
        return sample

    def _describe_outputs(self) -> tuple[bool, list[TensorInfo]]:
        """Whether there is a batch dimension, and the outputs; this also warms the model up.

        A run with twice the rows has to give twice the rows, and the first half of them unchanged.
        """
        once = self._run(self._sample(1))
        try:
            rows = self._batch_rows()
            twice = self._run(self._sample(2)) if rows else None
        except RuntimeError:
            twice = None
        has_batch = twice is not None and all(
            is_same_with_more_rows(rows, once[name], twice[name]) for name in once
        )
        shapes = self._output_shapes(once)
        outputs = [TensorInfo(name, value.dtype, shapes[name]) for name, value in once.items()]
        return has_batch, outputs

    def _output_shapes(self, once: dict[str, np.ndarray]) -> dict[str, tuple[int | None, ...]]:
        """The shapes of outputs: sizes that grow with open dimensions of the inputs are open."""
        shapes = {name: value.shape for name, value in once.items()}
        if all(isinstance(size, int) for info in self.inputs for size in info.shape):
            return shapes
        try:
            grown = {name: value.shape for name, value in self._run(self._sample(1, 2)).items()}
        except RuntimeError:  # The model takes no such sizes: any size of an output may be open.
            grown = {name: (None,) * len(shape) for name, shape in shapes.items()}
        return {name: _common(shape, grown[name]) for name, shape in shapes.items()}

    def _batch_rows(self) -> int:
        """The first size of all inputs in the file; 0 if they differ or an input is a scalar."""
        first = {self._sizes[name][0] if self._sizes[name] else 0 for name in self._sizes}
        return max(first.pop(), 1) if len(first) == 1 else 0

    def _open_batches(self) -> None:
        """Names the batch dimension, and plans the sizes of batches that are powers of two."""

        def opened(info: TensorInfo) -> TensorInfo:
            first = next((i.shape[0] for i in self.inputs if isinstance(i.shape[0], str)), "batch")
            return TensorInfo(info.name, info.dtype, (first, *info.shape[1:]))

        self.outputs = [opened(info) for info in self.outputs]
        self.inputs = [opened(info) for info in self.inputs]
        self._by_name = {info.name: info for info in self.inputs}
        for rows in self.batch_sizes:
            sample = self._sample(1)
            self._run({name: np.repeat(x[:1], rows, axis=0) for name, x in sample.items()})
        self.plan_cache_misses = 0


def _common(shape: tuple[int, ...], other: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """A shape with None for each size that the other lacks; for all sizes if the ranks differ."""
    if len(shape) != len(other):
        return (None,) * len(shape)
    pairs = zip(shape, other, strict=True)
    return tuple(size if size == found else None for size, found in pairs)


def is_same_with_more_rows(rows: int, once: np.ndarray, twice: np.ndarray) -> bool:
    """True if ``twice`` has twice the rows, and begins with those of ``once``."""
    if once.ndim == 0 or once.shape[0] != rows or twice.shape != (2 * rows, *once.shape[1:]):
        return False
    return np.allclose(once, twice[:rows], rtol=1e-2, atol=1e-3, equal_nan=True)


def _load(
    path: str | Path,
    key_file: str | Path | None,
    threads: int,
    fast_run_cache: str | Path | None,
    device: str,
    max_batch: int | None,
) -> LiteNetwork:
    with _loading:
        network = LiteNetwork(config_of(key_file, device))
        if threads and device == "cpu":
            network.threads_number = threads
        if fast_run_cache is not None:
            LiteGlobal.set_persistent_cache(fast_run_cache, always_sync=True)
        network.load(path)
        if fast_run_cache is not None:
            policy = LiteAlgoSelectStrategy.LITE_ALGO_PROFILE
            batch = max_batch or DEFAULT_MAX_BATCH
            network.set_network_algo_policy(policy, shared_batch_size=batch)
    return network


def config_of(key_file: str | Path | None, device: str = "cpu") -> LiteConfig:
    """Return Lite's settings for a model, and give Lite its key.

    Args:
        key_file: the key of an encrypted model.
        device: ``"cpu"`` or ``"cuda"``.
    Raises:
        OSError: the key cannot be read.
        ValueError: the file has no key.
    """
    config = LiteConfig(_DEVICES[device])
    if key_file is not None:
        LiteGlobal.update_decryption_key(_CIPHER, read_key(key_file))
        config.bare_model_cryption_name = _CIPHER
    return config


def read_key(path: str | Path) -> bytes:
    """Read a key as ``mge-crypt keygen`` writes it.

    Args:
        path: of the file.
    Raises:
        OSError: it cannot be read.
        ValueError: it is not 32 bytes in hexadecimal digits.
    """
    try:
        key = bytes.fromhex(Path(path).read_text())
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError(f"{path} is not a key of 64 hexadecimal digits")
    return key


def array_of(data: Sequence, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Convert numbers of a request; they may be nested lists.

    Args:
        data: the numbers; None is NaN.
        dtype: the element type.
        shape: the sizes.
    Returns:
        An array.
    Raises:
        ValueError: there are more or fewer numbers than the shape has, or a number does not fit
            into the type.
    """
    try:
        values = np.asarray(data)
        if values.dtype.kind == "O" and dtype.kind == "f":  # has None
            values = np.asarray(data, np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"the data are not an array of numbers: {error}") from None
    if values.size != prod(shape):
        raise ValueError(f"shape {tuple(shape)} has {prod(shape)} elements, got {values.size}")
    if values.size and values.dtype.kind not in {"f": "iuf", "b": "biu"}.get(dtype.kind, "iu"):
        raise ValueError(f"an element is not of type {dtype.name}")
    if dtype.kind == "b":
        # Raw content may have any bytes, and kernels expect 0 or 1.
        values = (values.view(np.uint8) if values.dtype.kind == "b" else values) != 0
    if dtype.kind in "iu" and values.size:
        limits = np.iinfo(dtype)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise ValueError(f"an element is out of the range of {dtype.name}")
    with np.errstate(over="ignore"):
        return values.astype(dtype).reshape(shape)
