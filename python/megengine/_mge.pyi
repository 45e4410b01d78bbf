# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make_stubs.py; do not edit.
"""MGE's tensors, operators and programs for Python."""

import collections.abc
import os
from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np

from .core.operands import Operand
from .tensor import Tensor as _Tensor

__version__: str
bfloat16: Any
operators_symbol: str
PublicTensor = _Tensor  # with the methods that Python adds, as operators give it

class CallProfiler:
    """Records the programs that one call of a traced function, or of a Model, runs."""
    def __init__(self) -> None:
        ...
    @property
    def is_empty(self) -> Any: ...
    def to_megengine(self) -> str:
        """What it has recorded, as the JSON of MegEngine's graph profiles."""

class Device:
    """Where a Tensor lies; compares equal with strings such as 'xpux'."""
    def __eq__(self, arg: Any, /) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, name: Any | None = None) -> None:
        ...
    def __ne__(self, arg: Any, /) -> bool:
        ...
    def __reduce__(self) -> tuple:
        ...
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
    @property
    def logical_name(self) -> Any: ...
    @property
    def physical_name(self) -> Any: ...

class Graph:
    """A graph that is changed by hand; values are known by numbers."""
    def __init__(self, data: Any | None = None, label: str = '', key: bytes | None = None) -> None:
        """The graph of a model file of any kind, given by its path or by its bytes, which the label names in errors, with the key of an encrypted one; or an empty one."""
    def add_constant(self, tensor: Any, name: str) -> int:
        """A further constant; gives its id."""
    def add_input(self, name: str, dtype: Any, shape: collections.abc.Sequence[int], device: Any | None) -> int:
        """A further input, None: where the graph runs; gives its id."""
    def bind(self, tensor: Any, id: int) -> None:
        """The Tensor object stands for this value from now on."""
    def copy_from(self, source: Graph, values: collections.abc.Sequence[int], known: collections.abc.Mapping[int, int]) -> tuple:
        """Compute values of a graph, which may be this one, once more in this; of `known`, a dict, the values stand for its keys. Gives their ids here, and `known` with all that was copied."""
    def id_of(self, tensor: Any) -> int:
        """The id of the value that a Tensor stands for; another becomes a constant."""
    def inputs_of(self, id: int) -> list[int]:
        """The values that it reads."""
    @property
    def metadata(self) -> Any: ...
    def name(self, id: int) -> str:
        """What a value is called; never empty."""
    def operator_name(self, id: int) -> str:
        """What the operator is called that computes a value."""
    def operator_type(self, id: int) -> tuple:
        """Its type and mode in MegEngine's words."""
    def order(self, values: collections.abc.Sequence[int]) -> list[int]:
        """The operators, inputs and constants that values need, each behind what it reads."""
    @property
    def outputs(self) -> Any: ...
    def outputs_of(self, id: int) -> list[int]:
        """The values that it computes."""
    def owner(self, id: int) -> int:
        """The id of the first output of the operator that computes a value."""
    def params(self, id: int) -> dict:
        """Its parameters by name."""
    def readers(self, id: int) -> list[int]:
        """The operators that read a value."""
    def replace(self, by: collections.abc.Mapping[int, int]) -> None:
        """Whoever reads a key reads its value from now on."""
    def set_constant(self, id: int, tensor: Any) -> None:
        """Give a constant another value."""
    def set_inputs(self, id: int, inputs: collections.abc.Sequence[int]) -> None:
        """Let an operator read other values, at least as many."""
    def set_name(self, id: int, name: str) -> None:
        """Call a value otherwise."""
    def set_operator_name(self, id: int, name: str) -> None:
        """Call an operator otherwise."""
    def set_outputs(self, outputs: collections.abc.Sequence[int]) -> None:
        """These values are the outputs."""
    def set_param(self, id: int, name: str, value: Any) -> None:
        """Give a parameter of an operator another value."""
    def set_shapes(self, shapes: collections.abc.Mapping[int, collections.abc.Sequence[int]]) -> None:
        """Give inputs, by id, other shapes."""
    def take_name(self, value: int, other: int) -> None:
        """The other value, unless it has a name, gets that of the first."""
    def to_model(self, outputs: collections.abc.Sequence[int], names: collections.abc.Sequence[str], metadata: collections.abc.Mapping[str, str], options: dict, kept: tuple[int, bool, bool] = (2, True, True)) -> Any:
        """These values as a Model."""

class GraphFunction:
    """A model file as a function of inputs and weights."""
    def __init__(self, path: str | os.PathLike) -> None:
        ...
    def call(self, inputs: list, weights: list) -> list:
        """The outputs for a list of Tensors or arrays, with these values of the weights."""
    @property
    def input_names(self) -> Any: ...
    @property
    def metadata(self) -> Any: ...
    @property
    def output_names(self) -> Any: ...
    def weights(self) -> list:
        """What can be trained, as (name, Tensor)."""

class InternalError(RuntimeError):
    """A broken promise inside the library, with its place in the source."""

class Model:
    """A graph with named inputs and outputs, as in a .mge file."""
    def add_test_case(self, name: str, inputs: Any, with_outputs: bool, max_error: float | None = None) -> None:
        ...
    @property
    def counterparts(self) -> Any: ...
    @property
    def dtypes(self) -> Any: ...
    def fold_batch_norms(self) -> None:
        """Put those of inference into the weights of the layers before them; before the first run."""
    @property
    def input_names(self) -> Any: ...
    @property
    def input_specs(self) -> Any: ...
    @property
    def metadata(self) -> Any: ...
    @property
    def operators(self) -> Any: ...
    @property
    def output_names(self) -> Any: ...
    def run(self, inputs: Any) -> list:
        """The outputs for a list of Tensors or arrays, of any shapes that fit."""
    def run_profiled(self, inputs: Any, profiler: CallProfiler) -> list:
        """The same, with a CallProfiler of this run."""
    def statistics(self) -> dict:
        ...
    @property
    def text(self) -> Any: ...
    def to_bytes(self) -> bytes:
        ...
    def to_onnx_bytes(self, opset: int = 17) -> bytes:
        ...
    def write(self, path: str | os.PathLike) -> None:
        """Write the file whole or not at all."""
    def write_onnx(self, path: str | os.PathLike, opset: int = 17, most_inner_bytes: int = 2147483648) -> None:
        """Write an ONNX file whole or not at all; weights of more bytes than that go to PATH.data."""

class NewFile:
    """A file that gets its name when it is whole; until then it has none."""
    def __init__(self, path: bytes) -> None:
        ...
    @property
    def descriptor(self) -> Any: ...
    def finish(self) -> None:
        """Flush it to the disk and give it its name."""

class OutOfRangeError(IndexError):
    """An index beyond the end of its axis: Python's and NumPy's class, and MegEngine's."""

class PausedRecording:
    """No tape of this thread records until end()."""
    def __init__(self) -> None:
        ...
    def end(self) -> None:
        """On the thread that made it."""

class RefusedAssertionError(AssertionError):
    """What MegEngine's Python asserts, and its library refuses where Python does not ask."""

class RefusedTypeError(TypeError):
    """A dtype or type that an operator refuses: Python's class, and MegEngine's."""

class RefusedValueError(ValueError):
    """A value that an operator refuses: Python's class, and MegEngine's."""

class Subgraph:
    """A graph that an operator holds."""
    @property
    def input_count(self) -> Any: ...
    @property
    def output_count(self) -> Any: ...
    @property
    def text(self) -> Any: ...

class Tape:
    """Remembers what is applied to tensors, then computes gradients."""
    def __init__(self) -> None:
        ...
    def attach(self, tensor: Any) -> None:
        """Follow the value that the Tensor has now."""
    def backward(self, ys: Any, dys: Any | None = None) -> list:
        """Gradients in the order of attaching, None where independent. Ends the tape."""
    @property
    def is_recording(self) -> Any: ...
    def release(self) -> None:
        """Forget everything."""
    def start(self) -> None:
        """Record from now on."""
    def stop(self) -> None:
        """Record no longer; what was recorded stays."""

class Trace:
    """A function recorded once and checked on every later call."""
    def __init__(self, symbolic: bool = False, capture_as_const: bool = False, record_only: bool = False, options: dict = {}) -> None:
        """options: of compilation, by name (list_options)."""
    def __new__(cls: Any, symbolic: bool = False, capture_as_const: bool = False, record_only: bool = False, options: dict = {}) -> Trace:
        """options: of compilation, by name (list_options)."""
    def abort(self) -> None:
        """It has failed."""
    def begin(self, arguments: Any) -> None:
        """A call begins on this thread."""
    def begin_profiled(self, arguments: Any, profiler: CallProfiler) -> None:
        """The same, with a CallProfiler of what the call runs."""
    def end(self, outputs: Any) -> None:
        """It has ended with these results."""
    @property
    def is_recorded(self) -> Any: ...
    @property
    def step_count(self) -> Any: ...
    def to_model(self, input_names: collections.abc.Sequence[str], output_names: collections.abc.Sequence[str], metadata: collections.abc.Mapping[str, str] = {}, options: dict = {}, training: bool = False, kept: tuple[int, bool, bool] = (1, False, False), scopes: collections.abc.Sequence[tuple[int, str]] = [], tensors: Any = []) -> Model:
        """The recording as a Model; an empty list of output names takes the operators' names. options: by name (list_options), carried by the model; f16_io_comp and f16_io_f32_comp are done at once. training: with batch norms that learn. kept: which values (2: all), operators and constants have names, after the modules that ran (scopes, by step) and what these call their tensors."""

class TraceError(RuntimeError):
    """A traced function did something else than when it was recorded."""

def added_libraries() -> list:
    """Name, path and operators of each library that was added."""

def arranged_subgraph(graph: Subgraph, inputs: collections.abc.Sequence[int], like: Any, outputs: collections.abc.Sequence[int]) -> Subgraph:
    """The graph with inputs in another order, -1 for a further one like the next Tensor of `like`, and with other results: its own, or new inputs counted back from -1."""

def cache_folder() -> Any | None:
    """The folder for what may be made again, which nobody else may write to; None when there is none."""

def call_function(forward: Any, backward: Any, args: Any) -> Any:
    """Calls forward(*args) unrecorded and puts it on the tapes with its own gradient rule."""

def can_share(tensor: Any) -> bool:
    """Whether the Tensor's device has memory that other processes can have too."""

def capture_subgraph(function: Any, inputs: Any, captured: Any, sliced: int = 0, grad_owners: Any | None = None) -> tuple:
    """What the function makes of a list of Tensors like `inputs`, of the last `sliced` ones without their first axis, as (graph, captured, changed, positions): the Tensors from outside that it uses are further inputs, behind those of `captured`; those that it changes are as before, and behind the results come their new values and those from before, which are captured at these positions. A list `grad_owners` gets the Tensors whose gradients it leaves, which come behind the results, too."""

def check_options(options: dict) -> None:
    """Raises an error for options, by name, that do not exist or contradict each other."""

def collect_loans() -> None:
    """Lets go of memory that no other process has any more."""

def compute_capability(device: Any) -> int:
    """Ten times that of a GPU."""

def connect_processes(rank: int, processes: collections.abc.Sequence[tuple[str, int]], tokens: collections.abc.Sequence[str], patience: int, limit: float) -> None:
    """Connects with the other processes, given as pairs of host and port by rank, for the operator `collective`. `tokens`: 64 characters by rank, known to this process and that one. RuntimeError when they have not come within `patience` seconds; so are exchanges in which nothing moves for `limit` seconds."""

def cuda_version(library: str) -> int:
    """Of 'cuda', 'driver' or 'cudnn', as NVIDIA counts; 0 without it."""

def exchange_thread_device(device: Any | None) -> Any:
    """The default device of this thread (None: that of the process); gives the one before."""

def file_limit() -> int:
    """Bytes of memory that one file may ask for (MGE_FILE_LIMIT)."""

def forget_measurements(path: str | os.PathLike) -> int:
    """Removes what a file has kept for whichever machine; how much that was."""

def from_dlpack(capsule: Any, copy: bool | None, stream: int | None) -> Any:
    """A Tensor with the memory of a capsule, which it uses up; copy: as above; stream: which of a GPU made its value."""

def get_default_device() -> str:
    ...

def get_threads() -> int:
    ...

def gpus() -> tuple:
    """How many GPUs there are, and why there are none."""

def is_recorded(arg: Any, /) -> bool:
    """Whether an active tape follows the value."""

def is_shared(tensor: Any) -> bool:
    """Whether a Tensor's value lies in memory that other processes can have too."""

def keep_measurements(path: str | os.PathLike | None) -> None:
    """The file that keeps what is measured from now on; None: this process's memory."""

def keeps_memory(tensor: Any) -> bool:
    """Whether what the Tensor is given is written to memory that others have too."""

def lend_memory(tensor: Any) -> Any:
    """What another process opens a Tensor's value on a GPU with; it stays until that is done."""

def library_path() -> Any:
    """The file of libmge that this process runs."""

def list_options() -> list:
    """The options of a compilation: name, field in C++, keyword, sentence, default as text and as a value, and words."""

def listen_for_processes(host: str) -> int:
    """Listens at an address of this machine; gives the port. RuntimeError where it cannot."""

def load(path: str | os.PathLike) -> Model:
    """Read a model file of any kind: .mge, MegEngine's, packed."""

def load_operators(path: str | os.PathLike, symbol: str = 'mge_operators') -> tuple:
    """Add the operators of a shared object; gives its name, its path and their names."""

def low_bit_dtype(bits: int) -> Any:
    """The NumPy dtype of the odd numbers of 1, 2 or 4 bits."""

def memory_stats(device: Any | None = None) -> dict:
    """Bytes allocated and reserved, the largest figures of both, and the limit (0: none)."""

def memory_status(device: Any | None = None) -> tuple:
    """Bytes of a device's memory that this process may use, and how many of them are free."""

def mixed_precision() -> tuple:
    """Whether this thread casts automatically, and between which dtypes: (enabled, low, high)."""

def model(device: Any) -> str:
    """The name of the hardware."""

def onnx_counterparts() -> list[tuple[str, str]]:
    """Operators and the ONNX nodes that they become."""

def onnx_rows() -> list[tuple[str, int, int]]:
    """ONNX's operators that are read: name, first and last version."""

def open_input(path: bytes) -> int:
    """A descriptor of a regular file, or of what a pipe gives."""

def open_lent(tensor: Any, descriptor: int, handle: bytes, block_offset: int, bytes: int, offset: int, dtype: Any, shape: collections.abc.Sequence[int], physical: str, logical: str) -> None:
    """Gives a Tensor its value in another process's memory; the descriptor is taken over."""

def open_shared(tensor: Any, descriptor: int, bytes: int, offset: int, dtype: Any, shape: collections.abc.Sequence[int], device: Any) -> None:
    """Gives a Tensor its value in shared memory; the descriptor is taken over."""

def outlive_recordings(tensor: Any) -> None:
    """The Tensor, though made while a function was recorded, is one from outside."""

def pause_trace() -> Any:
    """The running trace steps aside; give what this returns to resume_trace."""

def release_cached_memory(device: Any | None = None) -> None:
    ...

def remove_operators(library: str) -> None:
    """Take the operators of a library out again; what was made with them works on."""

def reset_peak_memory(device: Any | None = None) -> None:
    ...

def reshaped(inp: Any, target_shape: Any | None) -> Any:
    """The same values, in order, in another shape."""

def resume_trace(trace: Any | None) -> None:
    ...

def set_async_level(level: int) -> None:
    """When errors of work that a device does later come out: 0 at the call."""

def set_default_device(arg: Any, /) -> None:
    ...

def set_kernel_choice(benchmark: bool, deterministic: bool) -> None:
    """How algorithms are chosen: by measuring, and only reproducible ones."""

def set_memory_limit(bytes: int, device: Any | None = None) -> None:
    ...

def set_mixed_precision(enabled: bool, low: Any, high: Any) -> None:
    """What operators of this thread take their floating inputs in."""

def set_symbolic_shapes(value: bool) -> None:
    """Say whether Tensor.shape is a Tensor on this thread."""

def set_tensor_class(arg: Any, /) -> None:
    """Results of operators are made as this subclass of _mge.Tensor."""

def set_threads(arg: int, /) -> None:
    ...

def shape_arguments(arg: Any, /) -> list[int]:
    """Which arguments of the traced function, by number, give the Tensor its value by their shapes."""

def share_memory(tensor: Any) -> None:
    """Moves a Tensor's value to memory that other processes can have too."""

def shared_part(tensor: Any) -> tuple:
    """Descriptor of the shared memory, its bytes, and where in them the value lies."""

def start_input_check() -> None:
    """Look from now on, on all threads, whether operators change what they only read."""

def start_recording() -> None:
    """Record operators that run at once, on all threads, from now on; what was recorded before goes."""

def stop_input_check() -> list[str]:
    """Look no longer: what was found, a line for each input of an operator."""

def stop_recording() -> tuple:
    """Record no longer: (operators, blocks), dicts with times in nanoseconds of the monotonic clock; a block is memory of a result."""

def stream_address(device: str) -> int | None:
    """The stream of a device's queue, as DLPack names it; None where no stream does its work."""

def symbolic_shapes() -> bool:
    """Whether Tensor.shape is a Tensor on this thread."""

def synchronize(device: Any | None = None) -> None:
    ...

def to_dlpack(tensor: Any, versioned: bool, copy: bool | None, on_host: bool, stream: int | None) -> Any:
    """A capsule with the memory of a Tensor; copy: True, False for never, None for where it has to be; stream: which of a GPU waits for its value, by DLPack's names."""

def transposed(inp: Any, pattern: Any | None) -> Any:
    """The axes in another order, with new ones where `pattern` has "x"."""

def upload_beside(tensor: Any, device: Any) -> Any:
    """A Tensor on the CPU, copied to a device beside the work that was asked of that before."""

def usable_cpus() -> int:
    ...

class Tensor:
    """A value on a device; megengine.Tensor adds the rest."""
    def __init__(self, data: Any, dtype: Any = None, device: Any = None, is_const: bool = False, no_cache: bool = False, name: Any = None, format: str = 'default') -> None: ...
    def __abs__(self) -> _Tensor: ...
    def __add__(self, other: Any, /) -> _Tensor: ...
    def __and__(self, other: Any, /) -> _Tensor: ...
    def __bool__(self) -> bool: ...
    def __ceil__(self) -> _Tensor: ...
    def __complex__(self) -> complex: ...
    def __eq__(self, other: Any, /) -> _Tensor: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floor__(self) -> _Tensor: ...
    def __floordiv__(self, other: Any, /) -> _Tensor: ...
    def __ge__(self, other: Any, /) -> _Tensor: ...
    def __getitem__(self, other: Any, /) -> _Tensor: ...
    def __gt__(self, other: Any, /) -> _Tensor: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __iand__(self, other: Any, /) -> Self: ...
    def __ifloordiv__(self, other: Any, /) -> Self: ...
    def __ilshift__(self, other: Any, /) -> Self: ...
    def __imatmul__(self, other: Any, /) -> Self: ...
    def __imod__(self, other: Any, /) -> Self: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> _Tensor: ...
    def __ior__(self, other: Any, /) -> Self: ...
    def __ipow__(self, other: Any, /) -> Self: ...
    def __irshift__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __ixor__(self, other: Any, /) -> Self: ...
    def __le__(self, other: Any, /) -> _Tensor: ...
    def __lshift__(self, other: Any, /) -> _Tensor: ...
    def __lt__(self, other: Any, /) -> _Tensor: ...
    def __matmul__(self, other: Any, /) -> _Tensor: ...
    def __mod__(self, other: Any, /) -> _Tensor: ...
    def __mul__(self, other: Any, /) -> _Tensor: ...
    def __ne__(self, other: Any, /) -> _Tensor: ...  # type: ignore[override]
    def __neg__(self) -> _Tensor: ...
    def __or__(self, other: Any, /) -> _Tensor: ...
    def __pos__(self) -> _Tensor: ...
    def __pow__(self, other: Any, /) -> _Tensor: ...
    def __radd__(self, other: Any, /) -> _Tensor: ...
    def __rand__(self, other: Any, /) -> _Tensor: ...
    def __rfloordiv__(self, other: Any, /) -> _Tensor: ...
    def __rlshift__(self, other: Any, /) -> _Tensor: ...
    def __rmatmul__(self, other: Any, /) -> _Tensor: ...
    def __rmod__(self, other: Any, /) -> _Tensor: ...
    def __rmul__(self, other: Any, /) -> _Tensor: ...
    def __ror__(self, other: Any, /) -> _Tensor: ...
    def __round__(self, digits: int = 0, /) -> _Tensor: ...
    def __rpow__(self, other: Any, /) -> _Tensor: ...
    def __rrshift__(self, other: Any, /) -> _Tensor: ...
    def __rshift__(self, other: Any, /) -> _Tensor: ...
    def __rsub__(self, other: Any, /) -> _Tensor: ...
    def __rtruediv__(self, other: Any, /) -> _Tensor: ...
    def __rxor__(self, other: Any, /) -> _Tensor: ...
    def __sub__(self, other: Any, /) -> _Tensor: ...
    def __truediv__(self, other: Any, /) -> _Tensor: ...
    def __xor__(self, other: Any, /) -> _Tensor: ...
    _is_complex: bool  # Whether the elements are complex numbers.
    _is_symbolic: bool  # A value of a graph, without memory.
    _meaning: Any  # The dtype when it is a quantised, complex or low-bit one, else None.
    def _meant_as(self, dtype: Any) -> _Tensor:
        """This plain Tensor as one of a quantised, complex or low-bit dtype."""
    def _plain(self) -> _Tensor:
        """A plain Tensor: the integers of a quantised or low-bit one, the pairs of a complex one."""
    _quantised: Any  # The dtype when it is a quantised one, else None.
    def _reset(self, other: Any) -> None:
        """Gives this object the value of another one."""
    _tuple_shape: tuple[int, ...]  # Extents as a tuple.
    def detach(self) -> _Tensor:
        """The same value, cut from the tapes."""
    device: Device  # Where the value lies.
    dtype: np.dtype[Any]  # The NumPy dtype.
    format: str  # 'default', 'nchw' or 'nhwc': a tag.
    grad: Any  # What backward left here, or None.
    def item(self, *args: Any) -> Any:
        """The only element as a Python number."""
    name: str  # Name shown in dumped graphs.
    ndim: int  # Number of axes.
    def numpy(self) -> np.ndarray[Any, Any]:
        """A read-only NumPy array on the same memory."""
    shape: tuple[int, ...]  # Size of each axis: a tuple; under a trace with symbolic shapes an int32 Tensor.
    size: int  # Number of elements.
    def tolist(self) -> Any:
        """Nested lists of Python numbers."""

class ops:
    """Every operator."""

    @staticmethod
    def abs(x: Operand) -> _Tensor:
        """Magnitude. Its gradient at 0 is -1.
        Returns:
            y
        """

    @staticmethod
    def acos(x: Operand) -> _Tensor:
        """Arc cosine; NaN outside [-1, 1].
        Returns:
            y
        """

    @staticmethod
    def acosh(x: Operand) -> _Tensor:
        """Inverse hyperbolic cosine; NaN below 1.
        Returns:
            y
        """

    @staticmethod
    def adadelta_step(param: Operand, grad: Operand, square_avg: Operand, delta_avg: Operand, step: Operand, lr: Operand, *, rho: float = 0.9, epsilon: float = 1e-06, weight_decay: float = 0.0) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor]:
        """One step of Adadelta (Zeiler, 2012): s = rho * square_avg + (1 - rho) * g * g, d = sqrt(delta_avg + epsilon) / sqrt(s + epsilon) * g, param - lr * d, delta_avg = rho * delta_avg + (1 - rho) * d * d.

        Args:
            rho: Part of the means that stays.
            epsilon: Added under the roots.
            weight_decay: Factor of the parameter that acts as a gradient.
        Returns:
            param, square_avg, delta_avg, step
        """

    @staticmethod
    def adagrad_step(param: Operand, grad: Operand, square_sum: Operand, step: Operand, lr: Operand, *, lr_decay: float = 0.0, epsilon: float = 1e-10, weight_decay: float = 0.0) -> tuple[_Tensor, _Tensor, _Tensor]:
        """One step of Adagrad (Duchi, Hazan and Singer, 2011): s = square_sum + g * g, param - lr / (1 + step * lr_decay) * g / sqrt(s + epsilon), step being the count before it.

        Args:
            lr_decay: How fast the rate falls with the steps.
            epsilon: Added under the root.
            weight_decay: Factor of the parameter that acts as a gradient.
        Returns:
            param, square_sum, step
        """

    @staticmethod
    def adam_step(param: Operand, grad: Operand, exp_avg: Operand, exp_avg_sq: Operand, step: Operand, lr: Operand, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, weight_decay: float = 0.0, decoupled: bool = False) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor]:
        """One step of Adam (Kingma and Ba, 2015), or of AdamW (Loshchilov and Hutter, 2019) when decoupled: the decay is then added to the step, not to the gradient.

        Args:
            beta1: Part of the mean of gradients that stays.
            beta2: Part of the mean of squared gradients that stays.
            epsilon: Added to the root of the mean square.
            weight_decay: Factor of the parameter that acts as a gradient.
            decoupled: Decay the parameter itself, past the means (AdamW).
        Returns:
            param, exp_avg, exp_avg_sq, step
        """

    @staticmethod
    def adaptive_avg_pool2d(x: Operand, *, height: int = 1, width: int = 1) -> _Tensor:
        """Mean of each cell of a grid of (height, width) windows laid over images x (N, C, H, W).

        Args:
            height: Rows of the result.
            width: Columns of the result.
        Returns:
            y
        """

    @staticmethod
    def adaptive_avg_pool2d_backward(x: Operand, dy: Operand, *, height: int = 1, width: int = 1) -> _Tensor:
        """Gradient of adaptive_avg_pool2d, of the shape of x.

        Args:
            height: Rows of the result.
            width: Columns of the result.
        Returns:
            dx
        """

    @staticmethod
    def adaptive_max_pool2d(x: Operand, *, height: int = 1, width: int = 1) -> _Tensor:
        """Largest value of each cell of a grid of (height, width) windows laid over images x (N, C, H, W).

        Args:
            height: Rows of the result.
            width: Columns of the result.
        Returns:
            y
        """

    @staticmethod
    def adaptive_max_pool2d_backward(x: Operand, y: Operand, dy: Operand, *, height: int = 1, width: int = 1) -> _Tensor:
        """Gradient of adaptive_max_pool2d: dy goes to every element that is the largest of its window.

        Args:
            height: Rows of the result.
            width: Columns of the result.
        Returns:
            dx
        """

    @staticmethod
    def adaptive_max_pool2d_select(x: Operand, y: Operand, v: Operand, *, height: int = 1, width: int = 1) -> _Tensor:
        """Sum of v over the elements of each window of x that are its largest, y; the gradient of adaptive_max_pool2d_backward with respect to dy.

        Args:
            height: Rows of the result.
            width: Columns of the result.
        Returns:
            z
        """

    @staticmethod
    def add(a: Operand, b: Operand) -> _Tensor:
        """Elementwise sum.
        Returns:
            y
        """

    @staticmethod
    def add_axis(x: Operand, *, axes: Sequence[int] = ()) -> _Tensor:
        """Inserts axes of extent 1.

        Args:
            axes: Places of the new axes in the result.
        Returns:
            y
        """

    @staticmethod
    def add_slice(x: Operand, value: Operand, *bounds: Operand, items: Sequence[int] = ()) -> _Tensor:
        """x with value, which broadcasts, added to the elements at regular places.

        Args:
            items: Five integers per indexed axis: axis, begin, end, step, is_index (1: begin is an index and the axis goes away). The smallest int64 means left out; the next smallest takes the next value of `bounds`.
        Returns:
            y
        """

    @staticmethod
    def add_take(x: Operand, value: Operand, *indices: Operand, axes: Sequence[int] = ()) -> _Tensor:
        """x with value, which broadcasts, added at places given by index tensors; several values for one place are all added.

        Args:
            axes: The axis that each index tensor indexes; rising; negative ones count from the end.
        Returns:
            y
        """

    @staticmethod
    def arange(first: Operand | None = None, last: Operand | None = None, gap: Operand | None = None, *, start: float = 0.0, stop: float = 0.0, step: float = 1.0, dtype: Any = 'float32') -> _Tensor:
        """start, start + step, start + 2 step, … up to but without stop.

        Args:
            start: First value; the number `first`, when given, replaces it.
            stop: The values end before it, or before `last`.
            step: Distance of the values, or `gap`; not 0, may be negative.
            dtype: Dtype of the result.
        Returns:
            y
        """

    @staticmethod
    def argmax(x: Operand, *, axis: int = -1, keepdims: bool = False) -> _Tensor:
        """Index (int32) of the largest value along an axis: the first among equals, the first NaN if there is one.

        Args:
            axis: Axis to search along; negative counts from the end.
            keepdims: Leave the axis with extent 1.
        Returns:
            y
        """

    @staticmethod
    def argmin(x: Operand, *, axis: int = -1, keepdims: bool = False) -> _Tensor:
        """Index (int32) of the smallest value along an axis: the first among equals, the first NaN if there is one.

        Args:
            axis: Axis to search along; negative counts from the end.
            keepdims: Leave the axis with extent 1.
        Returns:
            y
        """

    @staticmethod
    def asin(x: Operand) -> _Tensor:
        """Arc sine; NaN outside [-1, 1].
        Returns:
            y
        """

    @staticmethod
    def asinh(x: Operand) -> _Tensor:
        """Inverse hyperbolic sine.
        Returns:
            y
        """

    @staticmethod
    def assert_equal(expected: Operand, actual: Operand, *, max_error: float = 0.0001, verbose: bool = False, claim: str = '') -> _Tensor:
        """Ends the run with an error unless two tensors agree; gives the largest error |expected - actual| / max(min(|expected|, |actual|), 1).

        Args:
            max_error: Largest error that is none.
            verbose: Print the largest error to standard error in each run.
            claim: What the error says does not hold, before the first number of `actual` that differs; empty: it says the error.
        Returns:
            error
        """

    @staticmethod
    def atan(x: Operand) -> _Tensor:
        """Arc tangent.
        Returns:
            y
        """

    @staticmethod
    def atan2(a: Operand, b: Operand) -> _Tensor:
        """Angle of the point (b, a), from -pi to pi.
        Returns:
            y
        """

    @staticmethod
    def atanh(x: Operand) -> _Tensor:
        """Inverse hyperbolic tangent; NaN outside [-1, 1].
        Returns:
            y
        """

    @staticmethod
    def attention(q: Operand, k: Operand, v: Operand, mask: Operand | None = None, *, scale: float = 0.0, causal: bool = False, from_end: bool = False, side_by_side: bool = False) -> tuple[_Tensor, _Tensor]:
        """softmax(scale q kᵀ + mask) v for each head, q being (N, H, L, E), k (N, Hk, S, E) and v (N, Hk, S, Ev); Hk divides H, neighbouring heads of q share one of k and v. The mask is added, broadcast to (N, H, L, S). A query that sees no key gets zeros. log_sum_exp (N, H, L) is the logarithm of what the softmax divides by, infinity where a query sees nothing.

        Args:
            scale: Of the scores; 0: one by the root of E.
            causal: Query i sees key j only where j <= i, counted from the first of both.
            from_end: Causal counts from the last of both: j <= i + S - L, so that keys of the past lie before those of the queries.
            side_by_side: The heads lie side by side: q and y are (N, L, H, E), k and v (N, S, Hk, E).
        Returns:
            y, log_sum_exp
        """

    @staticmethod
    def attention_backward(q: Operand, k: Operand, v: Operand, dy: Operand, y: Operand, log_sum_exp: Operand, mask: Operand | None = None, dlog_sum_exp: Operand | None = None, *, scale: float = 0.0, causal: bool = False, from_end: bool = False, side_by_side: bool = False) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Gradients of attention with respect to q, k and v; dlog_sum_exp is that of log_sum_exp, where somebody used it.

        Args:
            scale: Of the scores; 0: one by the root of E.
            causal: Query i sees key j only where j <= i, counted from the first of both.
            from_end: Causal counts from the last of both: j <= i + S - L, so that keys of the past lie before those of the queries.
            side_by_side: The heads lie side by side: q and y are (N, L, H, E), k and v (N, S, Hk, E).
        Returns:
            dq, dk, dv
        """

    @staticmethod
    def avg_pool2d(x: Operand, *, kernel: Sequence[int] = (1, 1), stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), count_include_pad: bool = False) -> _Tensor:
        """Mean of each window of images x (N, C, H, W).

        Args:
            kernel: Size of the window.
            stride: Step of the window along height and width.
            padding: Border above and below, left and right, that the window may reach into.
            count_include_pad: Divide by the size of the window even at the border.
        Returns:
            y
        """

    @staticmethod
    def avg_pool2d_backward(x: Operand, dy: Operand, *, kernel: Sequence[int] = (1, 1), stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), count_include_pad: bool = False) -> _Tensor:
        """Gradient of avg_pool2d, of the shape of x.

        Args:
            kernel: Size of the window.
            stride: Step of the window along height and width.
            padding: Border above and below, left and right, that the window may reach into.
            count_include_pad: Divide by the size of the window even at the border.
        Returns:
            dx
        """

    @staticmethod
    def batch_norm(x: Operand, scale: Operand, bias: Operand, running_mean: Operand, running_var: Operand, *, training: bool = True, momentum: float = 0.9, epsilon: float = 1e-05) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor, _Tensor]:
        """Normalises each channel (axis 1) of x to mean 0 and variance 1 over all samples and pixels, then scales and shifts it. Training takes the statistics of x and mixes them into the running ones (the variance divided by n - 1); otherwise the running ones are used.

        Args:
            training: Take the statistics of x and update the running ones.
            momentum: Weight of the old running statistics in the new ones.
            epsilon: Added to the variance.
        Returns:
            y, new_mean, new_var, saved_mean, saved_inv_std
        """

    @staticmethod
    def batch_norm_backward(x: Operand, dy: Operand, scale: Operand, saved_mean: Operand, saved_inv_std: Operand, *, training: bool = True) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Gradients of batch_norm's y with respect to x, scale and bias.

        Args:
            training: Whether the statistics were those of x, which depend on it.
        Returns:
            dx, dscale, dbias
        """

    @staticmethod
    def beta(state: Operand, alpha: Operand, beta: Operand) -> _Tensor:
        """Independent f32 numbers with beta distributions, one for each element of `alpha` and `beta`, whose extents agree. Where a parameter is not positive the number is 0.
        Returns:
            y
        """

    @staticmethod
    def bit_cast(x: Operand, *, dtype: Any = 'int32') -> _Tensor:
        """The bits of x as elements of another dtype of the same size.

        Args:
            dtype: Of the result; no bool, whose bytes are 0 and 1.
        Returns:
            y
        """

    @staticmethod
    def bitwise_and(a: Operand, b: Operand) -> _Tensor:
        """The bits that are set in both.
        Returns:
            y
        """

    @staticmethod
    def bitwise_not(x: Operand) -> _Tensor:
        """The other bits.
        Returns:
            y
        """

    @staticmethod
    def bitwise_or(a: Operand, b: Operand) -> _Tensor:
        """The bits that are set in at least one.
        Returns:
            y
        """

    @staticmethod
    def bitwise_xor(a: Operand, b: Operand) -> _Tensor:
        """The bits that are set in exactly one.
        Returns:
            y
        """

    @staticmethod
    def broadcast_like(x: Operand, like: Operand) -> _Tensor:
        """Repeats x until it has the shape of `like`, whose values are not read.
        Returns:
            y
        """

    @staticmethod
    def broadcast_to(x: Operand, target: Operand | None = None, *, shape: Sequence[int] = ()) -> _Tensor:
        """Repeats x along new axes and axes of extent 1 until it has the shape.

        Args:
            shape: Extents of the result; -1 keeps that of x. The tensor `target`, when given, replaces it.
        Returns:
            y
        """

    @staticmethod
    def ceil(x: Operand) -> _Tensor:
        """Smallest whole number not below x.
        Returns:
            y
        """

    @staticmethod
    def class_nms(boxes: Operand, scores: Operand, max_output: Operand | None = None, overlap_threshold: Operand | None = None, score_threshold: Operand | None = None, *, is_centered: bool = False) -> _Tensor:
        """Non-maximum suppression for each class of each image: of the boxes (images, n, 4) with scores (images, classes, n) those that overlap no better one of their class too much, as rows of image, class and box, best score first. Among equal scores the first is the best.

        Args:
            is_centered: Boxes are x and y of their middle, width and height; else two corners, in any order. The further inputs are numbers: how many boxes of a class are selected at most (i64, else none), the largest accepted intersection over union (f32, else 0), and what a score has to exceed (f32).
        Returns:
            selected
        """

    @staticmethod
    def clip(x: Operand, *, lower: float = float("-inf"), upper: float = float("inf"), keeps_nan: bool = False) -> _Tensor:
        """x, but not below lower and not above upper; where the bounds cross, lower is asked first. NaN gives upper, unless it is kept.

        Args:
            lower: Smallest value of the result.
            upper: Largest value of the result.
            keeps_nan: NaN stays NaN.
        Returns:
            y
        """

    @staticmethod
    def collective(x: Operand, *, mode: str = 'all_reduce_sum', ranks: int = 0, rank: int = 0) -> _Tensor:
        """Exchanges tensors between processes, each of which applies it. Who only receives gives a tensor like the result, whose values are not read; who only sends gets an empty one.

        Args:
            mode: What they exchange.
            ranks: The processes of the group, in its order.
            rank: Position of this process among them.
        Returns:
            y
        """

    @staticmethod
    def compressed_matmul(x: Operand, steps: Operand, scale: Operand, zero_point: Operand | None = None, bias: Operand | None = None, residual: Operand | None = None, *, bits: int = 8, group: int = 0, activation: str = 'none') -> _Tensor:
        """The product of the rows of x (..., columns) with the rows of a matrix that is stored in 8 or 4 bits for each weight (`expand_weight` says how): x w^T, float32; then an optional bias (one value per row of the matrix), an optional residual (of the result's shape) and an activation.

        Args:
            bits: Of a step: 8 or 4.
            group: Columns that share a scale, with 4 bits an even number; 0: all of a row.
            activation: Applied to the result: none, relu, relu6, hswish, silu, gelu, sigmoid, tanh, relu_keeps_nan or relu6_keeps_nan.
        Returns:
            y
        """

    @staticmethod
    def concat(*xs: Operand, axis: int = 0) -> _Tensor:
        """Joins tensors of equal rank along an axis; all other extents have to be equal.

        Args:
            axis: Axis to join along; negative counts from the end.
        Returns:
            y
        """

    @staticmethod
    def cond(predicate: Operand, *operands: Operand, then_graph: Subgraph | None = None, else_graph: Subgraph | None = None) -> tuple[_Tensor, ...]:
        """What one of two graphs makes of the operands: the first where the predicate is not zero, else the second. Only that one is computed.

        Args:
            then_graph: What is computed where the predicate is not zero.
            else_graph: What is computed where it is zero; as many results, of the same dtypes. Where their shapes differ, only a run tells the shape.
        Returns:
            results, ...
        """

    @staticmethod
    def cond_take(x: Operand, mask: Operand) -> tuple[_Tensor, _Tensor]:
        """The elements of x where the mask holds, as a vector, and their places in the flattened x.
        Returns:
            values, indices
        """

    @staticmethod
    def conv2d(x: Operand, weight: Operand, bias: Operand | None = None, residual: Operand | None = None, *, stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1), groups: int = 1, activation: str = 'none') -> _Tensor:
        """Cross-correlation of images x (N, C, H, W) with a weight (OC, C, kh, kw), or (G, OC/G, C/G, kh, kw) for several groups; then an optional bias (1, OC, 1, 1), an optional residual (of the result's shape) and an activation.

        Args:
            stride: Step of the window along height and width.
            padding: Zeros put around x, above and below, left and right.
            dilation: Distance of neighbouring elements of the window.
            groups: Number of groups that channels are divided into.
            activation: Applied to the result: none, relu, relu6, hswish, silu, gelu, sigmoid, tanh, relu_keeps_nan or relu6_keeps_nan.
        Returns:
            y
        """

    @staticmethod
    def conv2d_backward_data(weight: Operand, dy: Operand, like: Operand | None = None, *, stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1), groups: int = 1, height: int = 0, width: int = 0) -> _Tensor:
        """The gradient of conv2d for x, which is also the transposed convolution of dy. Its size comes from `like`, else from height and width, else it is the smallest one.

        Args:
            stride: As in conv2d.
            padding: As in conv2d.
            dilation: As in conv2d.
            groups: As in conv2d.
            height: Height of the result when `like` is absent; 0: the smallest.
            width: Width of the result when `like` is absent; 0: the smallest.
        Returns:
            dx
        """

    @staticmethod
    def conv2d_backward_weight(x: Operand, dy: Operand, like: Operand, *, stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1), groups: int = 1) -> _Tensor:
        """The gradient of conv2d for its weight, which has the shape of `like`.

        Args:
            stride: As in conv2d.
            padding: As in conv2d.
            dilation: As in conv2d.
            groups: As in conv2d.
        Returns:
            dweight
        """

    @staticmethod
    def convert(x: Operand, *, dtype: Any = 'float32') -> _Tensor:
        """The same values in another dtype. Floats lose their fraction on the way to integers, integers wrap around; NaN and floats beyond int32 become -2^31 first. Everything but 0 is true.

        Args:
            dtype: Dtype of the result.
        Returns:
            y
        """

    @staticmethod
    def convert_narrow(x: Operand, *, dtype: Any = 'float8_e4m3fn', overflow: str = 'saturates', rounding: str = 'up') -> _Tensor:
        """Real numbers as the nearest of a narrow dtype, with a choice where `convert` has none: numbers beyond the largest saturate, or escape to infinity where there is one and to NaN else; float8_e8m0fnu takes the next power of two up, down or nearest.

        Args:
            dtype: Narrow dtype of the result.
            overflow: Of numbers beyond the largest: saturates or escapes.
            rounding: Of float8_e8m0fnu: up, down or nearest.
        Returns:
            y
        """

    @staticmethod
    def copy(x: Operand) -> _Tensor:
        """The same values in memory of their own.
        Returns:
            y
        """

    @staticmethod
    def cos(x: Operand) -> _Tensor:
        """Cosine; NaN for infinities.
        Returns:
            y
        """

    @staticmethod
    def cosh(x: Operand) -> _Tensor:
        """Hyperbolic cosine.
        Returns:
            y
        """

    @staticmethod
    def ctc_loss(x: Operand, lengths: Operand, labels: Operand, label_lengths: Operand, *, blank: int = 0) -> _Tensor:
        """Connectionist temporal classification (Graves et al., 2006): -log of the probability that the classes of probabilities x (T, N, C) spell the labels when repetitions and then blanks are dropped. Of sample n the first lengths[n] steps count.

        Args:
            blank: The class that stands for no label.
        Returns:
            loss
        """

    @staticmethod
    def ctc_loss_backward(x: Operand, lengths: Operand, labels: Operand, label_lengths: Operand, dloss: Operand, *, blank: int = 0) -> _Tensor:
        """Gradient of ctc_loss with respect to x.

        Args:
            blank: The class that stands for no label.
        Returns:
            dx
        """

    @staticmethod
    def cumsum(x: Operand, *, axis: int = 0) -> _Tensor:
        """Running sum along an axis; keeps the dtype, integers wrap.

        Args:
            axis: Axis to sum along; negative counts from the end.
        Returns:
            y
        """

    @staticmethod
    def deformable_roi_pool2d(x: Operand, regions: Operand, offsets: Operand | None = None, *, height: int = 1, width: int = 1, samples: int = 1, scale: float = 1.0, offset_scale: float = 0.1) -> _Tensor:
        """The mean of samples, bilinear between pixels, of each cell of regions of images x (N, C, H, W): (R, C, height, width). Regions (R, 5) are the index of an image and the corners x1, y1, x2, y2, rounded and inclusive. Each of the parts x parts parts of a region is moved by its `offsets` (R, 2, parts, parts), x first. Samples outside of the image do not count; a cell without any is 0.

        Args:
            height: Rows of each result.
            width: Columns of each result.
            samples: Of a cell along each axis.
            scale: Pixels of x per unit of the regions.
            offset_scale: What an offset of 1 is, in widths and heights of its region.
        Returns:
            y
        """

    @staticmethod
    def deformable_roi_pool2d_backward(x: Operand, regions: Operand, dy: Operand, offsets: Operand | None = None, *, height: int = 1, width: int = 1, samples: int = 1, scale: float = 1.0, offset_scale: float = 0.1) -> tuple[_Tensor, _Tensor]:
        """Gradients of deformable_roi_pool2d with respect to x and the offsets; the second is empty without them.

        Args:
            height: Rows of each result.
            width: Columns of each result.
            samples: Of a cell along each axis.
            scale: Pixels of x per unit of the regions.
            offset_scale: What an offset of 1 is, in widths and heights of its region.
        Returns:
            dx, doffsets
        """

    @staticmethod
    def dequantize(x: Operand, scale: Operand, zero_point: Operand | None = None) -> _Tensor:
        """The real numbers that steps stand for: (x - zero_point) * scale, in float32.
        Returns:
            y
        """

    @staticmethod
    def div(a: Operand, b: Operand) -> _Tensor:
        """Quotient; integers become float32 first.
        Returns:
            y
        """

    @staticmethod
    def dropout(x: Operand, seed: Operand, *, probability: float = 0.5) -> tuple[_Tensor, _Tensor]:
        """Sets elements of x to 0 with a probability and scales the others so that the mean stays; the mask is the factor of each element, in the dtype of x.

        Args:
            probability: Of an element to be dropped; 0 or more and below 1.
        Returns:
            y, mask
        """

    @staticmethod
    def embedding(weight: Operand, index: Operand) -> _Tensor:
        """One row of the weight (rows, width) per index; shape: that of index, then width.
        Returns:
            rows
        """

    @staticmethod
    def embedding_backward(index: Operand, dy: Operand, *, num_embeddings: int = 0) -> _Tensor:
        """The gradient of an embedding's weight: each row sums those of its uses.

        Args:
            num_embeddings: Number of rows of the weight.
        Returns:
            dweight
        """

    @staticmethod
    def equal(a: Operand, b: Operand) -> _Tensor:
        """a == b.
        Returns:
            y
        """

    @staticmethod
    def erf(x: Operand) -> _Tensor:
        """Error function.
        Returns:
            y
        """

    @staticmethod
    def exp(x: Operand) -> _Tensor:
        """e to the power x.
        Returns:
            y
        """

    @staticmethod
    def expand_weight(steps: Operand, scale: Operand, zero_point: Operand | None = None, *, columns: int = 0, bits: int = 8, group: int = 0) -> _Tensor:
        """The matrix (rows, columns) of float32 that is stored in 8 or 4 bits for each weight: (step - zero_point) * scale. Steps are bytes, (rows, groups * bytes of a group), of which one holds two steps of 4 bits, the low half first; scales and zero points are (rows, groups).

        Args:
            columns: Of the matrix.
            bits: Of a step: 8 or 4.
            group: Columns that share a scale, with 4 bits an even number; 0: all of a row.
        Returns:
            w
        """

    @staticmethod
    def expm1(x: Operand) -> _Tensor:
        """e to the power x, minus 1, exact near 0.
        Returns:
            y
        """

    @staticmethod
    def eye(*, n: int = 0, m: int = -1, dtype: Any = 'float32') -> _Tensor:
        """A matrix with ones on the diagonal and zeros elsewhere.

        Args:
            n: Number of rows.
            m: Number of columns; -1: as many as rows.
            dtype: Dtype of the result.
        Returns:
            y
        """

    @staticmethod
    def fake_quantize(x: Operand, scale: Operand, zero_point: Operand | None = None, grad_scale: Operand | None = None, *, lower: int = -128, upper: int = 127, learning: str = 'none') -> _Tensor:
        """Real numbers as quantisation would bring them back: (clip(round(x / scale) + zero_point) - zero_point) * scale. The gradient of x is that of the identity inside of the range. When the scale is learned, the zero point is added before rounding, and the scale has a gradient: of what rounding adds inside and of the bound outside, times grad_scale.

        Args:
            lower: Lowest step.
            upper: Highest step.
            learning: Of the scale: none, by_rounded or by_exact.
        Returns:
            y
        """

    @staticmethod
    def flatten(x: Operand, *, start: int = 0, end: int = -1) -> _Tensor:
        """Joins the axes from `start` to `end`, both included, into one.

        Args:
            start: First axis to join; negative counts from the end.
            end: Last axis to join; negative counts from the end.
        Returns:
            y
        """

    @staticmethod
    def flip(x: Operand, *, axes: Sequence[int] = ()) -> _Tensor:
        """Reverses the order of the elements along axes.

        Args:
            axes: Axes to reverse; negative ones count from the end.
        Returns:
            y
        """

    @staticmethod
    def floor(x: Operand) -> _Tensor:
        """Largest whole number not above x.
        Returns:
            y
        """

    @staticmethod
    def floor_div(a: Operand, b: Operand) -> _Tensor:
        """Largest whole number not above the quotient (Python's //); an integer divided by 0 gives 0.
        Returns:
            y
        """

    @staticmethod
    def full(target: Operand | None = None, *, shape: Sequence[int] = (), value: float = 0.0, dtype: Any = 'float32') -> _Tensor:
        """A new tensor with one value everywhere.

        Args:
            shape: Extents; the tensor `target`, when given, replaces them.
            value: Value of every element, converted to the dtype.
            dtype: Dtype of the result.
        Returns:
            y
        """

    @staticmethod
    def full_like(x: Operand, *, value: float = 0.0) -> _Tensor:
        """One value everywhere, in the shape and dtype of x, whose values are not read.

        Args:
            value: Value of every element, converted to the dtype.
        Returns:
            y
        """

    @staticmethod
    def fused_elementwise(*xs: Operand, program: str = '') -> _Tensor:
        """A program of elementwise operators, computed block by block.

        Args:
            program: Steps separated by semicolons, e.g. 'inputs 2; add 0 1; relu 2'.
        Returns:
            y
        """

    @staticmethod
    def fused_region(*xs: Operand, program: str = '', reduction: str = '', axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """A program of elementwise operators and transpositions, with a reduction of its result at the end.

        Args:
            program: Steps separated by semicolons, e.g. 'inputs 2; add 0 1; relu 2'.
            reduction: sum, mean, prod, max or min; empty: none.
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def gamma(state: Operand, shape: Operand, scale: Operand) -> _Tensor:
        """Independent f32 numbers with gamma distributions, one for each element of `shape` and `scale`, whose extents agree. Where a parameter is not positive the number is 0.
        Returns:
            y
        """

    @staticmethod
    def gather(x: Operand, index: Operand, *, axis: int = 0) -> _Tensor:
        """y[i, j, k] = x[i, index[i, j, k], k], for axis 1 of rank 3.

        Args:
            axis: Axis that the index replaces; negative from the end.
        Returns:
            y
        """

    @staticmethod
    def gelu(x: Operand) -> _Tensor:
        """x times the normal distribution function of x (exact, by erf).
        Returns:
            y
        """

    @staticmethod
    def gelu_slope(x: Operand) -> _Tensor:
        """Derivative of gelu.
        Returns:
            y
        """

    @staticmethod
    def greater(a: Operand, b: Operand) -> _Tensor:
        """a > b.
        Returns:
            y
        """

    @staticmethod
    def greater_equal(a: Operand, b: Operand) -> _Tensor:
        """a >= b.
        Returns:
            y
        """

    @staticmethod
    def group_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, groups: int = 1, epsilon: float = 1e-05) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Normalises each group of neighbouring channels of each sample of x (n, channels, ...) to mean 0 and variance 1; then scales by weight (channels) and adds bias (channels).

        Args:
            groups: Number of groups; divides the channels.
            epsilon: Added to the variance.
        Returns:
            y, mean, inv_std
        """

    @staticmethod
    def group_norm_backward(x: Operand, dy: Operand, mean: Operand, inv_std: Operand, weight: Operand | None = None, dmean: Operand | None = None, dinv_std: Operand | None = None, *, groups: int = 1) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Gradients of group_norm with respect to x, weight and bias.

        Args:
            groups: Number of groups; divides the channels.
        Returns:
            dx, dweight, dbias
        """

    @staticmethod
    def hsigmoid(x: Operand) -> _Tensor:
        """relu6(x + 3) / 6.
        Returns:
            y
        """

    @staticmethod
    def hswish(x: Operand) -> _Tensor:
        """x times relu6(x + 3) / 6.
        Returns:
            y
        """

    @staticmethod
    def indexing_one_hot(x: Operand, index: Operand, *, axis: int = 1) -> _Tensor:
        """The element of x that the index names along the axis, which stays with extent 1.

        Args:
            axis: Axis that the index names an element of; the index has all others.
        Returns:
            y
        """

    @staticmethod
    def indexing_set_one_hot(x: Operand, index: Operand, value: Operand, *, axis: int = 1) -> _Tensor:
        """x with the elements that the index names along the axis replaced by value.

        Args:
            axis: Axis that the index names an element of; the index has all others.
        Returns:
            y
        """

    @staticmethod
    def isinf(x: Operand) -> _Tensor:
        """True for infinities.
        Returns:
            y
        """

    @staticmethod
    def isnan(x: Operand) -> _Tensor:
        """True for NaN.
        Returns:
            y
        """

    @staticmethod
    def lamb_step(param: Operand, grad: Operand, exp_avg: Operand, exp_avg_sq: Operand, step: Operand, lr: Operand, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, weight_decay: float = 0.0, bias_correction: bool = True, always_adapt: bool = False) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor]:
        """One step of LAMB (You et al., 2020): a step of Adam, made as long as the parameter, times lr.

        Args:
            beta1: Part of the mean of gradients that stays.
            beta2: Part of the mean of squared gradients that stays.
            epsilon: Added to the root of the mean square.
            weight_decay: Factor of the parameter that is added to the step.
            bias_correction: Make up for means that begin at 0.
            always_adapt: Fit the length of the step without a weight decay too.
        Returns:
            param, exp_avg, exp_avg_sq, step
        """

    @staticmethod
    def layer_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, axes: int = 1, epsilon: float = 1e-05) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Subtracts the mean of the trailing axes and divides by their standard deviation; then scales by weight and adds bias, which have the shape of those axes.

        Args:
            axes: How many trailing axes are normalised together.
            epsilon: Added to the variance.
        Returns:
            y, mean, inv_std
        """

    @staticmethod
    def layer_norm_backward(x: Operand, dy: Operand, mean: Operand, inv_std: Operand, weight: Operand | None = None, dmean: Operand | None = None, dinv_std: Operand | None = None, *, axes: int = 1) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Gradients of layer_norm with respect to x, weight and bias.

        Args:
            axes: How many trailing axes were normalised together.
        Returns:
            dx, dweight, dbias
        """

    @staticmethod
    def leaky_relu(x: Operand, *, slope: float = 0.01) -> _Tensor:
        """x where it is not negative, else slope times x.

        Args:
            slope: Factor of negative values.
        Returns:
            y
        """

    @staticmethod
    def left_shift(a: Operand, b: Operand) -> _Tensor:
        """a * 2^b, wrapping; shifting by the width or more gives 0.
        Returns:
            y
        """

    @staticmethod
    def less(a: Operand, b: Operand) -> _Tensor:
        """a < b.
        Returns:
            y
        """

    @staticmethod
    def less_equal(a: Operand, b: Operand) -> _Tensor:
        """a <= b.
        Returns:
            y
        """

    @staticmethod
    def linspace(first: Operand | None = None, last: Operand | None = None, count: Operand | None = None, *, start: float = 0.0, stop: float = 1.0, num: int = 100) -> _Tensor:
        """num evenly spaced values from start to stop, both included.

        Args:
            start: First value; the number `first`, when given, replaces it.
            stop: Last value, or `last`.
            num: How many, or `count`; 0 or more.
        Returns:
            y
        """

    @staticmethod
    def log(x: Operand) -> _Tensor:
        """Natural logarithm.
        Returns:
            y
        """

    @staticmethod
    def log1p(x: Operand) -> _Tensor:
        """Logarithm of 1 + x, exact near 0.
        Returns:
            y
        """

    @staticmethod
    def logaddexp(a: Operand, b: Operand) -> _Tensor:
        """log(e^a + e^b) without overflow.
        Returns:
            y
        """

    @staticmethod
    def logical_and(a: Operand, b: Operand) -> _Tensor:
        """Both are true.
        Returns:
            y
        """

    @staticmethod
    def logical_not(x: Operand) -> _Tensor:
        """True for false.
        Returns:
            y
        """

    @staticmethod
    def logical_or(a: Operand, b: Operand) -> _Tensor:
        """At least one is true.
        Returns:
            y
        """

    @staticmethod
    def logical_xor(a: Operand, b: Operand) -> _Tensor:
        """Exactly one is true.
        Returns:
            y
        """

    @staticmethod
    def logsigmoid(x: Operand) -> _Tensor:
        """log(sigmoid(x)) without overflow.
        Returns:
            y
        """

    @staticmethod
    def map_bytes(x: Operand, table: Operand) -> _Tensor:
        """What a table has for each byte: y = table[x], where -1 of int8 is the last place, 255, as its bits are. The table has 256 elements of uint8 or int8, and y has its dtype.
        Returns:
            y
        """

    @staticmethod
    def matinv(x: Operand) -> _Tensor:
        """Inverse of each square matrix of the last two axes (Gauss-Jordan elimination with pivots, in double precision).
        Returns:
            y
        """

    @staticmethod
    def matmul(a: Operand, b: Operand, bias: Operand | None = None, residual: Operand | None = None, *, transpose_a: bool = False, transpose_b: bool = False, activation: str = 'none') -> _Tensor:
        """Matrix product of the last two axes, with numpy's rules for vectors and batches; then an optional bias (one value per column), an optional residual (of the result's shape) and an activation.

        Args:
            transpose_a: Swap the last two axes of a; a vector stays.
            transpose_b: Swap the last two axes of b; a vector stays.
            activation: Applied to the result: none, relu, relu6, hswish, silu, gelu, sigmoid, tanh, relu_keeps_nan or relu6_keeps_nan.
        Returns:
            y
        """

    @staticmethod
    def max(x: Operand, *, axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """Largest value over axes; NaN where there is one. The gradient goes to all that are equal to it.

        Args:
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def max_pool2d(x: Operand, *, kernel: Sequence[int] = (1, 1), stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0)) -> _Tensor:
        """Largest value of each window of images x (N, C, H, W).

        Args:
            kernel: Size of the window.
            stride: Step of the window along height and width.
            padding: Border above and below, left and right, that the window may reach into.
        Returns:
            y
        """

    @staticmethod
    def max_pool2d_backward(x: Operand, y: Operand, dy: Operand, *, kernel: Sequence[int] = (1, 1), stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0)) -> _Tensor:
        """Gradient of max_pool2d: dy goes to every element that is the largest of its window.

        Args:
            kernel: Size of the window.
            stride: Step of the window along height and width.
            padding: Border above and below, left and right, that the window may reach into.
        Returns:
            dx
        """

    @staticmethod
    def max_pool2d_select(x: Operand, y: Operand, v: Operand, *, kernel: Sequence[int] = (1, 1), stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0)) -> _Tensor:
        """Sum of v over the elements of each window of x that are its largest, y; the gradient of max_pool2d_backward with respect to dy.

        Args:
            kernel: Size of the window.
            stride: Step of the window along height and width.
            padding: Border above and below, left and right, that the window may reach into.
        Returns:
            z
        """

    @staticmethod
    def maximum(a: Operand, b: Operand) -> _Tensor:
        """The larger one; b where one is NaN. Among equals the gradient goes to b.
        Returns:
            y
        """

    @staticmethod
    def mean(x: Operand, *, axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """Mean over axes, always float32 (bfloat16 and float16 too); NaN of nothing.

        Args:
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def min(x: Operand, *, axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """Smallest value over axes; NaN where there is one. The gradient goes to all that are equal to it.

        Args:
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def minimum(a: Operand, b: Operand) -> _Tensor:
        """The smaller one; b where one is NaN. Among equals the gradient goes to a.
        Returns:
            y
        """

    @staticmethod
    def mod(a: Operand, b: Operand) -> _Tensor:
        """Remainder: of integers with the sign of b (Python's %, 0 where b is 0), of floats with the sign of a (C's fmod).
        Returns:
            y
        """

    @staticmethod
    def mul(a: Operand, b: Operand) -> _Tensor:
        """Elementwise product.
        Returns:
            y
        """

    @staticmethod
    def multinomial(state: Operand, weights: Operand, *, num_samples: int = 1, replacement: bool = False) -> _Tensor:
        """Draws categories by their weights: positions in (n,) or in each row of (m, n), i32, in the order in which they were drawn.

        Args:
            num_samples: Draws from each row; more than 0.
            replacement: A category may be drawn again.
        Returns:
            y
        """

    @staticmethod
    def neg(x: Operand) -> _Tensor:
        """The negative.
        Returns:
            y
        """

    @staticmethod
    def nms(boxes: Operand, scores: Operand, *, threshold: float = 0.5, max_output: int = -1) -> _Tensor:
        """Non-maximum suppression: the indices of the boxes (N, 4) of corners x1, y1, x2, y2 that overlap no better one too much, best score (N) first. Among equal scores the first is the best.

        Args:
            threshold: Largest accepted intersection over union of two boxes.
            max_output: How many indices at most; -1: all.
        Returns:
            indices
        """

    @staticmethod
    def normal(state: Operand, target: Operand | None = None, *, shape: Sequence[int] = (), mean: float = 0.0, std: float = 1.0) -> _Tensor:
        """Independent f32 numbers with a normal distribution (method of Box and Muller).

        Args:
            shape: Extents; the tensor `target`, when given, replaces them.
            mean: Mean of the distribution.
            std: Standard deviation; not negative.
        Returns:
            y
        """

    @staticmethod
    def not_equal(a: Operand, b: Operand) -> _Tensor:
        """a != b; true for NaN.
        Returns:
            y
        """

    @staticmethod
    def one_hot(index: Operand, *, num_classes: int = 0) -> _Tensor:
        """A new last axis with 1 at the index and 0 elsewhere, in the dtype of the index.

        Args:
            num_classes: Extent of the new axis; above 0.
        Returns:
            y
        """

    @staticmethod
    def pad(x: Operand, *, before: Sequence[int] = (), after: Sequence[int] = (), mode: str = 'constant', value: float = 0.0) -> _Tensor:
        """Adds margins before and after the elements of each axis.

        Args:
            before: Number of elements to add in front, one per axis.
            after: Number of elements to add at the end, one per axis.
            mode: What the margins hold: a constant, the mirrored inside, the edge.
            value: The constant.
        Returns:
            y
        """

    @staticmethod
    def pad_backward(dy: Operand, *, before: Sequence[int] = (), after: Sequence[int] = (), mode: str = 'constant', value: float = 0.0) -> _Tensor:
        """The gradient of pad: each element collects those of its copies.

        Args:
            before: Number of elements to add in front, one per axis.
            after: Number of elements to add at the end, one per axis.
            mode: What the margins hold: a constant, the mirrored inside, the edge.
            value: The constant.
        Returns:
            dx
        """

    @staticmethod
    def permutation(state: Operand, *, n: int = 0, dtype: Any = 'int32') -> _Tensor:
        """0 … n - 1 in random order, every order equally likely (Fisher and Yates).

        Args:
            n: How many numbers; 0 or more.
            dtype: Dtype of the result; it has to hold n - 1 exactly.
        Returns:
            y
        """

    @staticmethod
    def poisson(state: Operand, lam: Operand) -> _Tensor:
        """Independent counts, as f32, with Poisson distributions, one for each element of `lam`, the mean. Where that is not positive the count is 0.
        Returns:
            y
        """

    @staticmethod
    def pow(a: Operand, b: Operand) -> _Tensor:
        """a to the power b; integers become float32 first.
        Returns:
            y
        """

    @staticmethod
    def prelu(a: Operand, b: Operand) -> _Tensor:
        """a where it is not negative, else a times b.
        Returns:
            y
        """

    @staticmethod
    def preprocess(x: Operand, mean: Operand, scale: Operand, *, channels_last: bool = True) -> _Tensor:
        """Images as a camera gives them, made ready for a network in one step: y[n, c, h, w] = (x[n, h, w, c] - mean[c]) * scale[c] as float32. Mean and scale are vectors; where they are longer than x has channels, x counts as 0 there.

        Args:
            channels_last: x is (N, H, W, C), else (N, C, H, W); the result is always the latter.
        Returns:
            y
        """

    @staticmethod
    def prod(x: Operand, *, axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """Product over axes. Keeps the dtype, integers wrap; bools give int32.

        Args:
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def quantize(x: Operand, scale: Operand, zero_point: Operand | None = None, *, dtype: Any = 'int8', lower: int = 0, upper: int = 0, rounding: str = 'half_away') -> _Tensor:
        """The nearest steps of real numbers: x / scale rounded, plus the zero point, within bounds. NaN becomes the lowest step. The shapes of scale and zero point broadcast to that of x.

        Args:
            dtype: Of the steps: uint8, int8 or int32.
            lower: Lowest step; when both bounds are 0, that of the dtype.
            upper: Highest step; when both bounds are 0, that of the dtype.
            rounding: half_away: halves go away from zero, and x is multiplied by the scale's reciprocal; half_even: halves go to the even step, and x is divided.
        Returns:
            y
        """

    @staticmethod
    def quantized_add(a: Operand, b: Operand, a_scale: Operand, b_scale: Operand, y_scale: Operand, a_zero: Operand | None = None, b_zero: Operand | None = None, y_zero: Operand | None = None, *, relu: bool = False, dtype: Any = 'int8', lower: int = 0, upper: int = 0, rounding: str = 'half_away') -> _Tensor:
        """The steps of a sum of real numbers that are given as steps of a byte, of scales of their own, and not below zero with relu: what dequantize, add, relu and quantize make of them.

        Args:
            relu: Negative sums become 0.
            dtype: Of the steps of y: uint8 or int8.
            lower: Lowest step of y; when both bounds are 0, that of the dtype.
            upper: Highest step of y; when both bounds are 0, that of the dtype.
            rounding: half_away or half_even, as of quantize.
        Returns:
            y
        """

    @staticmethod
    def quantized_conv2d(x: Operand, weight: Operand, scale: Operand | None = None, bias: Operand | None = None, residual: Operand | None = None, x_zero: Operand | None = None, weight_zero: Operand | None = None, y_scale: Operand | None = None, y_zero: Operand | None = None, residual_scale: Operand | None = None, residual_zero: Operand | None = None, *, stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1), groups: int = 1, activation: str = 'none', dtype: Any = 'int8', lower: int = 0, upper: int = 0, rounding: str = 'half_away') -> _Tensor:
        """conv2d of steps. The sums of products (x - x_zero) * (weight - weight_zero) are exact in int32, bias (int32) is added to them. With y_scale they become real numbers by `scale`, which is that of x times that of weight (one number, or one per channel of y); then residual is added, the activation applied, and the result rounded to steps of y. Without it they are the result.

        Args:
            stride: Step of the window along height and width.
            padding: Zeros put around x, above and below, left and right.
            dilation: Distance of neighbouring elements of the window.
            groups: Number of groups that channels are divided into.
            activation: Applied to the real numbers; as that of conv2d.
            dtype: Of the steps of y: uint8, int8 or int32; without y_scale int32.
            lower: Lowest step of y; when both bounds are 0, that of the dtype.
            upper: Highest step of y; when both bounds are 0, that of the dtype.
            rounding: half_away or half_even, as of quantize.
        Returns:
            y
        """

    @staticmethod
    def reciprocal(x: Operand) -> _Tensor:
        """1 / x.
        Returns:
            y
        """

    @staticmethod
    def reduce_to_shape(x: Operand, like: Operand | None = None, *, shape: Sequence[int] = ()) -> _Tensor:
        """Sums x over the axes along which the shape would be broadcast to x's.

        Args:
            shape: Shape of the result when the tensor `like` is absent.
        Returns:
            y
        """

    @staticmethod
    def relu(x: Operand, *, keeps_nan: bool = False) -> _Tensor:
        """max(x, 0); 0 for NaN, unless that is kept.

        Args:
            keeps_nan: NaN stays NaN.
        Returns:
            y
        """

    @staticmethod
    def relu6(x: Operand, *, keeps_nan: bool = False) -> _Tensor:
        """min(max(x, 0), 6); 6 for NaN, unless that is kept.

        Args:
            keeps_nan: NaN stays NaN.
        Returns:
            y
        """

    @staticmethod
    def remap(x: Operand, map: Operand, image: Operand | None = None, *, interpolation: str = 'linear', border: str = 'replicate', value: float = 0.0) -> _Tensor:
        """Images (M, C, OH, OW) whose pixels are those of x (N, C, H, W) at the places map (M, OH, OW, 2), column first, in pixels. Map m is of image m, or of image[m].

        Args:
            interpolation: Between the four pixels around, or the nearest.
            border: What lies outside of an image.
            value: The constant outside.
        Returns:
            y
        """

    @staticmethod
    def remap_backward_data(x: Operand, map: Operand, dy: Operand, image: Operand | None = None, *, interpolation: str = 'linear', border: str = 'replicate', value: float = 0.0) -> _Tensor:
        """Gradient of remap with respect to x, of whom only the shape is read.

        Args:
            interpolation: Between the four pixels around, or the nearest.
            border: What lies outside of an image.
            value: The constant outside.
        Returns:
            dx
        """

    @staticmethod
    def remap_backward_map(x: Operand, map: Operand, dy: Operand, image: Operand | None = None, *, interpolation: str = 'linear', border: str = 'replicate', value: float = 0.0) -> _Tensor:
        """Gradient of remap with respect to the map.

        Args:
            interpolation: Between the four pixels around, or the nearest.
            border: What lies outside of an image.
            value: The constant outside.
        Returns:
            dmap
        """

    @staticmethod
    def remove_axis(x: Operand, *, axes: Sequence[int] = ()) -> _Tensor:
        """Drops axes of extent 1.

        Args:
            axes: Axes of the input to drop.
        Returns:
            y
        """

    @staticmethod
    def reorder(x: Operand, *, layout: str = 'plain') -> _Tensor:
        """The same tensor in another memory layout; what the layout pads with is zero.

        Args:
            layout: Name of the layout (nhwc, nChw16c, ...), or plain for row-major.
        Returns:
            y
        """

    @staticmethod
    def reshape(x: Operand, target: Operand | None = None, *, shape: Sequence[int] = ()) -> _Tensor:
        """The same elements in row-major order under another shape.

        Args:
            shape: New extents; at most one may be -1 and is then what remains. The tensor `target`, when given, replaces it.
        Returns:
            y
        """

    @staticmethod
    def reshape_like(x: Operand, like: Operand) -> _Tensor:
        """The elements of x under the shape of `like`, whose values are not read.
        Returns:
            y
        """

    @staticmethod
    def right_shift(a: Operand, b: Operand) -> _Tensor:
        """a / 2^b rounded down.
        Returns:
            y
        """

    @staticmethod
    def roi_pool2d(x: Operand, regions: Operand, *, height: int = 1, width: int = 1, mode: str = 'max', scale: float = 1.0) -> _Tensor:
        """Pools regions of images x (N, C, H, W) to (R, C, height, width). Regions (R, 5) are the index of an image and the corners x1, y1, x2, y2, rounded to pixels and inclusive; an empty cell gives 0.

        Args:
            height: Rows of each result.
            width: Columns of each result.
            mode: The largest pixel of a cell, or their mean.
            scale: Pixels of x per unit of the regions.
        Returns:
            y
        """

    @staticmethod
    def roi_pool2d_backward(x: Operand, regions: Operand, dy: Operand, *, height: int = 1, width: int = 1, mode: str = 'max', scale: float = 1.0) -> _Tensor:
        """Gradient of roi_pool2d with respect to x; of a maximum it goes to the first of the largest pixels.

        Args:
            height: Rows of each result.
            width: Columns of each result.
            mode: The largest pixel of a cell, or their mean.
            scale: Pixels of x per unit of the regions.
        Returns:
            dx
        """

    @staticmethod
    def round(x: Operand) -> _Tensor:
        """Nearest whole number; halves away from zero.
        Returns:
            y
        """

    @staticmethod
    def round_to_even(x: Operand) -> _Tensor:
        """Nearest whole number; of halves the even one.
        Returns:
            y
        """

    @staticmethod
    def rsqrt(x: Operand) -> _Tensor:
        """1 / sqrt(x).
        Returns:
            y
        """

    @staticmethod
    def scan(*operands: Operand, body: Subgraph | None = None, carried: int = 1, sliced: int = 0, length: int = 0, reverse: bool = False, keep_steps: bool = False) -> tuple[_Tensor, ...]:
        """Walks along the first axis of the operands `xs`, which stand behind the first `carried` ones: each step makes new carried values and one slice of each further result. Results: the last carried values, then the slices along a new first axis.

        Args:
            body: Of the carried operands, a slice of each of xs and all other operands, to new carried values of the same specs and slices of the further results.
            carried: How many operands change from step to step.
            sliced: How many operands are xs.
            length: The number of steps where there are no xs.
            reverse: From the last slice to the first.
            keep_steps: What was carried into each step follows as further results, along a new first axis: for the gradient.
        Returns:
            results, ...
        """

    @staticmethod
    def scatter(x: Operand, index: Operand, source: Operand, *, axis: int = 0) -> _Tensor:
        """x with y[i, index[i, j, k], k] = source[i, j, k]; the last of several stays.

        Args:
            axis: Axis that the index replaces; negative from the end.
        Returns:
            y
        """

    @staticmethod
    def scatter_add(x: Operand, index: Operand, source: Operand, *, axis: int = 0) -> _Tensor:
        """x with source[i, j, k] added to y[i, index[i, j, k], k].

        Args:
            axis: Axis that the index replaces; negative from the end.
        Returns:
            y
        """

    @staticmethod
    def set_slice(x: Operand, value: Operand, *bounds: Operand, items: Sequence[int] = ()) -> _Tensor:
        """x with the elements at regular places replaced by value, which broadcasts.

        Args:
            items: Five integers per indexed axis: axis, begin, end, step, is_index (1: begin is an index and the axis goes away). The smallest int64 means left out; the next smallest takes the next value of `bounds`.
        Returns:
            y
        """

    @staticmethod
    def set_take(x: Operand, value: Operand, *indices: Operand, axes: Sequence[int] = ()) -> _Tensor:
        """x with the elements at places given by index tensors replaced by value, which broadcasts; of several values for one place the last stays.

        Args:
            axes: The axis that each index tensor indexes; rising; negative ones count from the end.
        Returns:
            y
        """

    @staticmethod
    def sgd_step(param: Operand, grad: Operand, velocity: Operand, lr: Operand, *, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> tuple[_Tensor, _Tensor]:
        """One step of gradient descent: g = grad + weight_decay * param, v = momentum * velocity + g, param - lr * v. An absent velocity is zero; without momentum the velocity that comes out is empty.

        Args:
            momentum: Part of the velocity that stays; 0: no velocity.
            weight_decay: Factor of the parameter that is added to its gradient.
            nesterov: Step along g + momentum * v instead of v.
        Returns:
            param, velocity
        """

    @staticmethod
    def shape_of(x: Operand, *, axis: int = -1) -> _Tensor:
        """The extents of x as an int32 vector; the values of x are not read.

        Args:
            axis: The axis whose extent is wanted; -1: all of them.
        Returns:
            y
        """

    @staticmethod
    def sigmoid(x: Operand) -> _Tensor:
        """1 / (1 + e^-x).
        Returns:
            y
        """

    @staticmethod
    def sign(x: Operand) -> _Tensor:
        """-1, 0 or 1; 0 for NaN.
        Returns:
            y
        """

    @staticmethod
    def silu(x: Operand) -> _Tensor:
        """x times sigmoid(x).
        Returns:
            y
        """

    @staticmethod
    def sin(x: Operand) -> _Tensor:
        """Sine; NaN for infinities.
        Returns:
            y
        """

    @staticmethod
    def sinh(x: Operand) -> _Tensor:
        """Hyperbolic sine.
        Returns:
            y
        """

    @staticmethod
    def slice(x: Operand, *bounds: Operand, items: Sequence[int] = ()) -> _Tensor:
        """Elements of x at regular places along each axis.

        Args:
            items: Five integers per indexed axis: axis, begin, end, step, is_index (1: begin is an index and the axis goes away). The smallest int64 means left out; the next smallest takes the next value of `bounds`.
        Returns:
            y
        """

    @staticmethod
    def softmax(x: Operand, *, axis: int = -1, log: bool = False) -> _Tensor:
        """Exponentials normalised to sum to one along an axis, or their logarithm.

        Args:
            axis: Axis that sums to one; negative counts from the end.
            log: Return the logarithm instead.
        Returns:
            y
        """

    @staticmethod
    def softplus(x: Operand) -> _Tensor:
        """log(1 + e^x) without overflow.
        Returns:
            y
        """

    @staticmethod
    def sort(x: Operand, *, axis: int = -1, descending: bool = False, nan_is_largest: bool = False) -> tuple[_Tensor, _Tensor]:
        """The elements of x in order along an axis, and the places they come from.

        Args:
            axis: Axis to sort along; negative counts from the end.
            descending: Largest first.
            nan_is_largest: NaN is larger than all numbers; else it comes last in either direction.
        Returns:
            values, indices
        """

    @staticmethod
    def split(x: Operand, *likes: Operand, axis: int = 0, sizes: Sequence[int] = ()) -> tuple[_Tensor, ...]:
        """Cuts x along an axis into consecutive parts.

        Args:
            axis: Axis to cut; negative counts from the end.
            sizes: Extent of each part; they sum to that of x. Tensors given as `likes` replace them by their own extents.
        Returns:
            ys, ...
        """

    @staticmethod
    def sqrt(x: Operand) -> _Tensor:
        """Square root.
        Returns:
            y
        """

    @staticmethod
    def square(x: Operand) -> _Tensor:
        """x times x.
        Returns:
            y
        """

    @staticmethod
    def sub(a: Operand, b: Operand) -> _Tensor:
        """Elementwise difference.
        Returns:
            y
        """

    @staticmethod
    def sum(x: Operand, *, axes: Sequence[int] = (), keepdims: bool = False) -> _Tensor:
        """Sum over axes. Keeps the dtype, integers wrap; bools are counted as int32.

        Args:
            axes: Axes to reduce; negative ones count from the end; none: all.
            keepdims: Leave the reduced axes with extent 1.
        Returns:
            y
        """

    @staticmethod
    def svd(x: Operand) -> tuple[_Tensor, _Tensor, _Tensor]:
        """Singular values of each matrix (..., m, n): x = u diag(s) v, with s falling, orthonormal columns in u (..., m, k) and rows in v (..., k, n), and k the smaller of m and n.
        Returns:
            u, s, v
        """

    @staticmethod
    def take(x: Operand, *indices: Operand, axes: Sequence[int] = ()) -> _Tensor:
        """Elements of x at places given by index tensors.

        Args:
            axes: The axis that each index tensor indexes; rising; negative ones count from the end.
        Returns:
            y
        """

    @staticmethod
    def take_channels(*xs: Operand, channels: Sequence[int] = (), order: Sequence[int] = ()) -> _Tensor:
        """Images (N, C, H, W) of which channel i is channel `channels[i]` of the tensors xs, joined along their channels.

        Args:
            channels: By channel of the result, which one it is.
            order: For tools that compare values: by channel of the result, its place in the order of the model as it was written; empty: the same. It changes no value.
        Returns:
            y
        """

    @staticmethod
    def tan(x: Operand) -> _Tensor:
        """Tangent; NaN for infinities.
        Returns:
            y
        """

    @staticmethod
    def tanh(x: Operand) -> _Tensor:
        """Hyperbolic tangent.
        Returns:
            y
        """

    @staticmethod
    def to_device(x: Operand, *, device: str = 'xpux:0') -> _Tensor:
        """The same values on another device.

        Args:
            device: Name of the device where the result lies.
        Returns:
            y
        """

    @staticmethod
    def topk(x: Operand, *, k: int = 1, descending: bool = True, kth_only: bool = False, no_sort: bool = False, nan_is_largest: bool = False) -> tuple[_Tensor, _Tensor]:
        """The k first elements of each row (the last axis) in order, and their places.

        Args:
            k: How many; more than there are means all.
            descending: Largest first.
            kth_only: Only the k-th of each row; the axis goes away.
            no_sort: Any order among the k.
            nan_is_largest: NaN is larger than all numbers; else it comes last in either direction.
        Returns:
            values, indices
        """

    @staticmethod
    def transpose(x: Operand, *, pattern: Sequence[int] = ()) -> _Tensor:
        """Reorders the axes: axis i of the result is axis pattern[i] of x.

        Args:
            pattern: A permutation of 0 … rank - 1.
        Returns:
            y
        """

    @staticmethod
    def tree_ensemble(x: Operand, questions: Operand, features: Operand, thresholds: Operand, children: Operand, missing: Operand, roots: Operand, leaves: Operand, weights: Operand, *, targets: int = 1, aggregate: str = 'sum') -> _Tensor:
        """What decision trees say of each row of x (n, features): from its root a row goes to the first child of a node where the answer to its question is yes, else to the second, until a leaf adds its weights to the targets (n, targets).

        Args:
            targets: How many numbers a row gets.
            aggregate: What becomes of the weights of different leaves for one target. Of the inputs, the nodes have `questions` (u8: x <= t, x < t, x >= t, x > t, x == t, x != t, leaf), `features` and `children` (nodes, 2) (i32; children stand behind their node; those of a leaf are the bounds of its rows in `leaves`), `thresholds` (f32) and `missing` (u8: NaN goes to the first child). `roots` (trees) are nodes; `leaves` (i32) are targets and `weights` (f32) what they get.
        Returns:
            y
        """

    @staticmethod
    def uniform(state: Operand, target: Operand | None = None, *, shape: Sequence[int] = (), low: float = 0.0, high: float = 1.0) -> _Tensor:
        """Independent f32 numbers, evenly distributed over [low, high).

        Args:
            shape: Extents; the tensor `target`, when given, replaces them.
            low: Smallest value.
            high: The values stay below it; above low.
        Returns:
            y
        """

    @staticmethod
    def unique(x: Operand, *, sorted: bool = True) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor]:
        """The different slices of x along its first axis, each once; where each stands first, which of them every slice of x is, and how often each is there.

        Args:
            sorted: In ascending order of their elements, NaN behind all numbers; else in the order in which they stand first.
        Returns:
            values, first, inverse, counts
        """

    @staticmethod
    def wait_for(x: Operand, *others: Operand) -> _Tensor:
        """x itself, for readers that have to wait until the other tensors have been computed.
        Returns:
            y
        """

    @staticmethod
    def where(mask: Operand, a: Operand, b: Operand) -> _Tensor:
        """a where the mask is true, else b.
        Returns:
            y
        """

    @staticmethod
    def while_loop(*operands: Operand, condition: Subgraph | None = None, body: Subgraph | None = None, carried: int = 1, max_steps: int = 0, keep_steps: bool = False) -> tuple[_Tensor, ...]:
        """Computes the body's results from the first `carried` operands over and over, as long as the condition holds for them; the other operands stay. The results are the last of them, then the number of steps.

        Args:
            condition: Of all operands to one element: zero ends the loop.
            body: Of all operands to new ones for the first `carried`, of their specs.
            carried: How many operands change from step to step.
            max_steps: The loop ends after so many steps at the latest; 0: no limit, and no gradient.
            keep_steps: What was carried into each step follows as further results, along a new first axis of extent max_steps that ends with zeros: for the gradient.
        Returns:
            results, ...
        """

class updates:
    """Operators that change their inputs."""

    @staticmethod
    def abs(*inputs: Operand, **params: Any) -> None:
        """As ops.abs; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def acos(*inputs: Operand, **params: Any) -> None:
        """As ops.acos; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def acosh(*inputs: Operand, **params: Any) -> None:
        """As ops.acosh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def adadelta_step(*inputs: Operand, **params: Any) -> None:
        """As ops.adadelta_step; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def adagrad_step(*inputs: Operand, **params: Any) -> None:
        """As ops.adagrad_step; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def adam_step(*inputs: Operand, **params: Any) -> None:
        """As ops.adam_step; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def add(*inputs: Operand, **params: Any) -> None:
        """As ops.add; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def add_slice(*inputs: Operand, **params: Any) -> None:
        """As ops.add_slice; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def add_take(*inputs: Operand, **params: Any) -> None:
        """As ops.add_take; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def asin(*inputs: Operand, **params: Any) -> None:
        """As ops.asin; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def asinh(*inputs: Operand, **params: Any) -> None:
        """As ops.asinh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def atan(*inputs: Operand, **params: Any) -> None:
        """As ops.atan; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def atan2(*inputs: Operand, **params: Any) -> None:
        """As ops.atan2; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def atanh(*inputs: Operand, **params: Any) -> None:
        """As ops.atanh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def batch_norm(*inputs: Operand, **params: Any) -> None:
        """As ops.batch_norm; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def batch_norm_backward(*inputs: Operand, **params: Any) -> None:
        """As ops.batch_norm_backward; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def bitwise_and(*inputs: Operand, **params: Any) -> None:
        """As ops.bitwise_and; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def bitwise_not(*inputs: Operand, **params: Any) -> None:
        """As ops.bitwise_not; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def bitwise_or(*inputs: Operand, **params: Any) -> None:
        """As ops.bitwise_or; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def bitwise_xor(*inputs: Operand, **params: Any) -> None:
        """As ops.bitwise_xor; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def ceil(*inputs: Operand, **params: Any) -> None:
        """As ops.ceil; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def clip(*inputs: Operand, **params: Any) -> None:
        """As ops.clip; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def conv2d(*inputs: Operand, **params: Any) -> None:
        """As ops.conv2d; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def convert(*inputs: Operand, **params: Any) -> None:
        """As ops.convert; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def copy(*inputs: Operand, **params: Any) -> None:
        """As ops.copy; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def cos(*inputs: Operand, **params: Any) -> None:
        """As ops.cos; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def cosh(*inputs: Operand, **params: Any) -> None:
        """As ops.cosh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def div(*inputs: Operand, **params: Any) -> None:
        """As ops.div; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def dropout(*inputs: Operand, **params: Any) -> None:
        """As ops.dropout; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def equal(*inputs: Operand, **params: Any) -> None:
        """As ops.equal; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def erf(*inputs: Operand, **params: Any) -> None:
        """As ops.erf; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def exp(*inputs: Operand, **params: Any) -> None:
        """As ops.exp; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def expm1(*inputs: Operand, **params: Any) -> None:
        """As ops.expm1; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def fake_quantize(*inputs: Operand, **params: Any) -> None:
        """As ops.fake_quantize; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def floor(*inputs: Operand, **params: Any) -> None:
        """As ops.floor; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def floor_div(*inputs: Operand, **params: Any) -> None:
        """As ops.floor_div; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def gelu(*inputs: Operand, **params: Any) -> None:
        """As ops.gelu; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def gelu_slope(*inputs: Operand, **params: Any) -> None:
        """As ops.gelu_slope; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def greater(*inputs: Operand, **params: Any) -> None:
        """As ops.greater; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def greater_equal(*inputs: Operand, **params: Any) -> None:
        """As ops.greater_equal; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def hsigmoid(*inputs: Operand, **params: Any) -> None:
        """As ops.hsigmoid; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def hswish(*inputs: Operand, **params: Any) -> None:
        """As ops.hswish; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def indexing_set_one_hot(*inputs: Operand, **params: Any) -> None:
        """As ops.indexing_set_one_hot; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def isinf(*inputs: Operand, **params: Any) -> None:
        """As ops.isinf; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def isnan(*inputs: Operand, **params: Any) -> None:
        """As ops.isnan; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def lamb_step(*inputs: Operand, **params: Any) -> None:
        """As ops.lamb_step; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def leaky_relu(*inputs: Operand, **params: Any) -> None:
        """As ops.leaky_relu; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def left_shift(*inputs: Operand, **params: Any) -> None:
        """As ops.left_shift; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def less(*inputs: Operand, **params: Any) -> None:
        """As ops.less; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def less_equal(*inputs: Operand, **params: Any) -> None:
        """As ops.less_equal; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def log(*inputs: Operand, **params: Any) -> None:
        """As ops.log; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def log1p(*inputs: Operand, **params: Any) -> None:
        """As ops.log1p; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logaddexp(*inputs: Operand, **params: Any) -> None:
        """As ops.logaddexp; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logical_and(*inputs: Operand, **params: Any) -> None:
        """As ops.logical_and; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logical_not(*inputs: Operand, **params: Any) -> None:
        """As ops.logical_not; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logical_or(*inputs: Operand, **params: Any) -> None:
        """As ops.logical_or; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logical_xor(*inputs: Operand, **params: Any) -> None:
        """As ops.logical_xor; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def logsigmoid(*inputs: Operand, **params: Any) -> None:
        """As ops.logsigmoid; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def map_bytes(*inputs: Operand, **params: Any) -> None:
        """As ops.map_bytes; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def matmul(*inputs: Operand, **params: Any) -> None:
        """As ops.matmul; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def maximum(*inputs: Operand, **params: Any) -> None:
        """As ops.maximum; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def minimum(*inputs: Operand, **params: Any) -> None:
        """As ops.minimum; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def mod(*inputs: Operand, **params: Any) -> None:
        """As ops.mod; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def mul(*inputs: Operand, **params: Any) -> None:
        """As ops.mul; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def neg(*inputs: Operand, **params: Any) -> None:
        """As ops.neg; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def not_equal(*inputs: Operand, **params: Any) -> None:
        """As ops.not_equal; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def pow(*inputs: Operand, **params: Any) -> None:
        """As ops.pow; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def prelu(*inputs: Operand, **params: Any) -> None:
        """As ops.prelu; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def reciprocal(*inputs: Operand, **params: Any) -> None:
        """As ops.reciprocal; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def relu(*inputs: Operand, **params: Any) -> None:
        """As ops.relu; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def relu6(*inputs: Operand, **params: Any) -> None:
        """As ops.relu6; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def right_shift(*inputs: Operand, **params: Any) -> None:
        """As ops.right_shift; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def round(*inputs: Operand, **params: Any) -> None:
        """As ops.round; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def round_to_even(*inputs: Operand, **params: Any) -> None:
        """As ops.round_to_even; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def rsqrt(*inputs: Operand, **params: Any) -> None:
        """As ops.rsqrt; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def scatter(*inputs: Operand, **params: Any) -> None:
        """As ops.scatter; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def scatter_add(*inputs: Operand, **params: Any) -> None:
        """As ops.scatter_add; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def set_slice(*inputs: Operand, **params: Any) -> None:
        """As ops.set_slice; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def set_take(*inputs: Operand, **params: Any) -> None:
        """As ops.set_take; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sgd_step(*inputs: Operand, **params: Any) -> None:
        """As ops.sgd_step; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sigmoid(*inputs: Operand, **params: Any) -> None:
        """As ops.sigmoid; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sign(*inputs: Operand, **params: Any) -> None:
        """As ops.sign; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def silu(*inputs: Operand, **params: Any) -> None:
        """As ops.silu; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sin(*inputs: Operand, **params: Any) -> None:
        """As ops.sin; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sinh(*inputs: Operand, **params: Any) -> None:
        """As ops.sinh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def softmax(*inputs: Operand, **params: Any) -> None:
        """As ops.softmax; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def softplus(*inputs: Operand, **params: Any) -> None:
        """As ops.softplus; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sqrt(*inputs: Operand, **params: Any) -> None:
        """As ops.sqrt; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def square(*inputs: Operand, **params: Any) -> None:
        """As ops.square; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def sub(*inputs: Operand, **params: Any) -> None:
        """As ops.sub; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def tan(*inputs: Operand, **params: Any) -> None:
        """As ops.tan; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def tanh(*inputs: Operand, **params: Any) -> None:
        """As ops.tanh; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""

    @staticmethod
    def where(*inputs: Operand, **params: Any) -> None:
        """As ops.where; the inputs get the outputs that have their place, without new memory where nobody else holds the old."""
