# SPDX-License-Identifier: Apache-2.0
"""``trace``: a Python function recorded once and run as a compiled graph."""

import functools
import json
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, overload

from .. import _mge
from .._mge import TraceError  # noqa: F401
from ..core._trace_option import set_symbolic_shape  # noqa: F401
from ..core.profiling_state import state as profiling
from ..core.random_turn import traced_call
from ..core.tracing_state import exclude_from_trace, state
from ..module import Module
from ..optimizer import Optimizer
from ..tensor import Tensor
from .dumping import dump
from .graph_opt_config import GraphOptimizationConfig
from .names import RecordedNames
from .options import NAMES, options_of
from .recorded_calls import RecordedCalls


def is_tracing() -> bool:
    """Whether a traced function is running on this thread.

    Example:
        >>> is_tracing()
        False
    """
    return state.tracing


def sideeffect(function: Callable) -> Callable:
    """Mark a function that does something beyond its result: a trace leaves it out.

    Args:
        function: a function that runs eagerly in every call of a traced function, with the values
            of that call.
    Returns:
        The wrapped function.
    Example:
        >>> seen = []
        >>> note = sideeffect(lambda x: seen.append(x.item()))
        >>> double = trace(lambda x: (note(x), x * 2)[1])
        >>> for k in range(3):
        ...     y = double(Tensor(float(k)))
        >>> seen
        [0.0, 1.0, 2.0]
    """

    @functools.wraps(function)
    def called(*args, **kwargs):
        with exclude_from_trace():
            return function(*args, **kwargs)

    return called


def _warn(name: str, why: str) -> None:
    warnings.warn(f"[trace] {name} has no effect: {why}", UserWarning, stacklevel=4)


def _only_tensors(args: tuple) -> str:
    """Why a captured function refuses its arguments, in MegEngine's words and with the first."""
    index, other = next((i, arg) for i, arg in enumerate(args) if not isinstance(arg, Tensor))
    hint = "; pass what is not a Tensor by keyword" if not isinstance(other, (list, tuple)) else ""
    return (
        "Only support tensor type args when capture_as_const is enabled: argument"
        f" {index} is a {type(other).__name__}{hint}"
    )


class trace:
    """A function that is recorded at its first call and compiled. Later calls run the Python code
    again, check each operator against the recording, and take the values from the compiled graph.

    Args:
        function: the function or Module to trace. Its positional Tensors are the inputs.
        symbolic: record without running; values are computed on access.
        capture_as_const: Tensors that are not arguments become constants; required for ``dump``. A
            call after one of them has changed is an error.
        record_only: record every call anew, as with ``capture_as_const``, and compile nothing.
        sublinear_memory_config: a ``SublinearMemoryConfig``: values with a long lifetime are
            recomputed instead of kept.
        dtr_config: a ``DTRConfig``: recompute values within a memory budget. Not with
            ``sublinear_memory_config``.
        profiling: record the times of each operator of a compiled call for ``get_profile``.
        opt_level: 0: no optimisation, 1: algebra, 2: also fusions and layouts. A negative level
            also compares the replaced values of each call with those of the recorded graph.
        graph_opt_config: a ``GraphOptimizationConfig``.
        symbolic_shape: inside the function ``x.shape`` is a Tensor.
        without_host: run the Python code only at the first call; without ``capture_as_const``, or
            if a positional argument is a Module or any argument is an Optimizer, at the first call
            for each combination of shapes, dtypes and other arguments, and each call reads and
            changes the current outer Tensors.
        imperative: no effect, with a warning: each call is always checked against the recording.
    Raises:
        TraceError: a later call differs from the recording.
    Example:
        >>> @trace(symbolic=True, capture_as_const=True)
        ... def double(x):
        ...     return x * 2
        >>> double(Tensor([1.0, 2.0]))
        Tensor([2. 4.], device=xpux:0)
    """

    @overload
    def __new__(cls, function: Callable, /, *args: Any, **kwargs: Any) -> "trace": ...

    @overload
    def __new__(cls, **kwargs: Any) -> Callable[[Callable], "trace"]: ...

    def __new__(cls, *args, **kwargs):
        if not args:
            return functools.partial(cls, **kwargs)
        return super().__new__(cls)

    @overload
    def __init__(self, function: Callable, /, *args: Any, **kwargs: Any) -> None: ...

    @overload
    def __init__(self, **kwargs: Any) -> None: ...

    def __init__(
        self,
        function: Callable,
        symbolic: bool = False,
        capture_as_const: bool = False,
        record_only: bool = False,
        sublinear_memory_config=None,
        dtr_config=None,
        profiling: bool = False,
        opt_level: int = 2,
        graph_opt_config=None,
        symbolic_shape: bool = True,
        without_host: bool = False,
        imperative: bool = False,
    ):
        capture_as_const = capture_as_const or record_only  # a recording is there to be dumped
        if imperative:
            _warn("imperative", "each call is checked against the recording")
        configured = {
            "opt_level": opt_level != 2,
            "graph_opt_config": graph_opt_config is not None,
            "sublinear_memory_config": sublinear_memory_config is not None,
            "dtr_config": dtr_config is not None,
        }
        runs_alone = without_host and not capture_as_const
        if record_only or runs_alone:
            configured["symbolic"] = symbolic and record_only
            configured["profiling"] = profiling and not record_only  # otherwise get_profile reports
            # why
            why = "nothing is compiled" if record_only else "the graph is compiled as an operator"
            for name in (name for name, is_given in configured.items() if is_given):
                _warn(name, why)
        self.__wrapped__ = function
        self._origin = self  # the original of copies for other threads
        self._copies: list[trace] = []  # that no thread calls now
        self._alone = RecordedCalls(function) if without_host and not record_only else None
        functools.update_wrapper(self, function, updated=())
        self._symbolic_shape = bool(symbolic_shape)
        self._capture_as_const = bool(capture_as_const)
        self._without_host = without_host
        options = {NAMES["opt_level"]: opt_level}
        fusion = graph_opt_config or GraphOptimizationConfig(None, None)
        options |= options_of("graph_opt_config", fusion)
        for keyword, config in (
            ("sublinear_memory_config", sublinear_memory_config),
            ("dtr_config", dtr_config),
        ):
            if config is not None:
                options |= {NAMES[keyword]: True} | options_of(keyword, config)
        self._options = options
        self._symbolic = bool(symbolic)
        self._record_only = record_only
        self._profiling = profiling
        self._profile: _mge.CallProfiler | None = None  # profile of the last call that ran a
        # program
        self._restart()

    def _restart(self) -> None:
        """Have no recording."""
        self._calling = threading.Lock()  # held by the thread that is in a call
        self._trace = _mge.Trace(
            self._symbolic, self._capture_as_const, self._record_only, self._options
        )
        self._names = RecordedNames(self._trace, self._capture_as_const)
        self._arguments: list[str] | None = None  # default names of the inputs
        self._by_position = 0  # so many of them, the first
        self._rebuild: Callable | None = None  # the results in their structure, from a flat list
        self._result_keys: list[str] | None = None  # set when the results are a dict
        self._has_result = False
        self._result_names: list[str] = []  # that the function gave to its results
        self._meanings: list = []  # quantised and complex dtypes of the results
        self._model = None

    @property
    def without_host(self) -> bool:
        """Whether the Python code runs only once.

        Example:
            >>> @trace(without_host=True)
            ... def double(x):
            ...     return x * 2
            >>> double.without_host
            True
        """
        return self._without_host

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._alone is not None and self._reads_outer_tensors(args, kwargs):
            return self._alone(*args, **kwargs)
        inputs, names = self._inputs_of(args, kwargs)
        if state.tracing:
            return self.__wrapped__(*args, **kwargs)
        if self._calling.acquire(blocking=False):
            try:
                with traced_call():
                    return self._call(inputs, names, args, kwargs)
            finally:
                self._calling.release()
        # A recording replays one call at a time; a concurrent call uses a copy.
        copy = self._idle_copy()
        try:
            return copy(*args, **kwargs)
        finally:
            self._copies.append(copy)

    def _idle_copy(self) -> "trace":
        try:
            return self._copies.pop()
        except IndexError:
            copy = object.__new__(trace)
            vars(copy).update(vars(self))
            copy._restart()
            return copy

    def _call(self, inputs: list, names: list[str], args: tuple, kwargs: dict):
        profiler = None
        if self._profiling or profiling.calls is not None:
            profiler, began = _mge.CallProfiler(), time.monotonic_ns()
        try:
            if self._without_host and self._trace.is_recorded:
                return self._run_alone(inputs, profiler)
            if not self._trace.is_recorded:
                self._arguments = names
                self._by_position = sum(isinstance(arg, Tensor) for arg in args)
            if profiler is None:
                self._trace.begin(inputs)
            else:
                self._trace.begin_profiled(inputs, profiler)
            before = state.tracing, state.symbolic_shape, state.names
            names = (
                None
                if self._trace.is_recorded and not self._record_only
                else RecordedNames(self._trace, self._capture_as_const)
            )
            try:
                state.symbolic_shape, state.names = self._symbolic_shape, names
                state.tracing = True
                result = self.__wrapped__(*args, **kwargs)
                flat = self._flatten(result)
            except BaseException:
                self._trace.abort()
                raise
            finally:
                state.tracing, state.symbolic_shape, state.names = before
            self._names = names or self._names
            self._has_result = bool(flat)
            self._result_names = [tensor.name for tensor in flat]
            self._meanings = [tensor._meaning for tensor in flat]
            self._trace.end(flat)
            return result
        finally:
            if profiler is not None and not profiler.is_empty:
                if self._profiling:
                    self._origin._profile = profiler
                if profiling.calls is not None:
                    profiling.calls.append((began, profiler))

    def _inputs_of(self, args, kwargs) -> tuple[list, list[str]]:
        inputs = [arg for arg in args if isinstance(arg, Tensor)]
        names = [arg.name or f"arg_{i}" for i, arg in enumerate(inputs)]
        if self._capture_as_const:
            if len(inputs) != len(args) and not (
                len(inputs) == len(args) - 1 and self._is_method_call(args)
            ):
                raise AssertionError(_only_tensors(args))
            named = {name: arg for name, arg in kwargs.items() if isinstance(arg, Tensor)}
            # Their order may differ from that of the recording, which identifies them by index.
            # Positional arguments have no name, and are first.
            known = self._arguments[self._by_position :] if self._trace.is_recorded else []
            place = {name: number for number, name in enumerate(known)}
            for name in sorted(named, key=lambda name: place.get(name, -1)):
                inputs.append(named[name])
                names.append(name)
        return inputs, names

    def _reads_outer_tensors(self, args, kwargs) -> bool:
        """Whether a call without host reads and changes the Tensors of its Modules and Optimizers,
        instead of taking them as constants. A Module given by keyword is a constant, which can be
        dumped."""
        if not self._capture_as_const:
            return True
        is_stateful = any(isinstance(each, (Module, Optimizer)) for each in args)
        is_stateful |= any(isinstance(each, Optimizer) for each in kwargs.values())
        return is_stateful and not (args and self._is_method_call(args))

    def _is_method_call(self, args) -> bool:
        """Whether the first argument is an object whose class has this trace as a method."""
        return any(self._origin in vars(cls).values() for cls in type(args[0]).__mro__)

    def _flatten(self, result) -> list:
        """The Tensors of a result, remembering how they were put together."""
        self._result_keys = None
        if result is None:
            self._rebuild = lambda tensors: None
            return []
        if isinstance(result, Tensor):
            self._rebuild = lambda tensors: tensors[0]
            return [result]
        if isinstance(result, dict):
            keys = self._result_keys = sorted(result)
            flat = [result[key] for key in keys]
            self._rebuild = lambda tensors: dict(zip(keys, tensors, strict=True))
        elif isinstance(result, (list, tuple)):
            flat = list(result)
            self._rebuild = getattr(result, "_make", type(result))
        else:
            flat = [result]
        if not all(isinstance(tensor, Tensor) for tensor in flat):
            if self._capture_as_const:
                raise AssertionError(
                    "Only support return tensors when capture_as_const is enabled: a Tensor, a list"
                    " or tuple of them, or a dict"
                )
            return [tensor for tensor in flat if isinstance(tensor, Tensor)]
        return flat

    def _run_alone(self, inputs, profiler):
        if self._model is None:
            self._model = self.to_model(self._arguments, [], options=self._options)
        if profiler is None:
            outputs = self._model.run(inputs)
        else:
            outputs = self._model.run_profiled(inputs, profiler)
        return self._rebuild(
            [
                output if dtype is None else output._meant_as(dtype)
                for output, dtype in zip(outputs, self._meanings, strict=True)
            ]
        )

    def to_model(
        self,
        input_names,
        output_names,
        metadata=None,
        options=None,
        training=False,
        kept=(1, False, False),
        separates_biases=False,
        checks_kept_values=True,
    ):
        """The recording as a ``_mge.Model``; without output names, those of the operators.

        Example:
            >>> @trace(capture_as_const=True)
            ... def double(x):
            ...     return x * 2
            >>> _ = double(Tensor([1.0]))
            >>> double.to_model(["x"], ["y"]).output_names
            ['y']
        """
        return self._trace.to_model(
            list(input_names),
            list(output_names),
            metadata or {},
            options or {},
            training,
            kept,
            self._names.scopes,
            self._names.tensors,
            separates_biases,
            checks_kept_values,
        )

    dump = dump

    def get_profile(self) -> dict:
        """Profile of the last compiled call, in the format of MegEngine's ``GraphProfiler``.

        Calls that are not compiled keep the previous profile: the recording, unless it is symbolic,
        and all calls with ``record_only``. Functions in ``exclude_from_trace`` are not included.

        Returns:
            A dict for ``json``; ``mge-profile`` reads such a file. ``graph_exec`` is the
            compiled graph for the shapes of that call: ``operator``, ``var`` and ``mem_chunk`` by
            id, and in ``comp_seq`` the operators in the order in which they ran. ``profiler`` has
            ``start``, ``kern`` and ``end`` by operator, in seconds since the first one began
            (``device``: its kernel, ``host``: with its dispatching), its bytes and operations
            (``opr_footprint``), and the steps inside branches and loops (``opr_internal_pf``).
        Raises:
            TypeError: there is no profile: the trace was not made with ``profiling=True``, or no
                compiled call has run.
        Example:
            >>> double = trace(lambda x: x * 2, profiling=True)
            >>> for value in (1.0, 2.0):
            ...     y = double(Tensor([value]))
            >>> graph = double.get_profile()["graph_exec"]
            >>> [graph["operator"][i]["type"] for i in graph["comp_seq"]]
            ['mul']
        """
        if not self._profiling:
            raise TypeError("[trace] there is no profile: trace with profiling=True")
        if self._profile is None:
            raise TypeError(
                "[trace] there is no profile yet: no compiled call has run; the first call only"
                " records unless symbolic=True, and record_only=True compiles none"
            )
        return json.loads(self._profile.to_megengine())
