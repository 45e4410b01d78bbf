# SPDX-License-Identifier: Apache-2.0
"""A profile of a part of a program, for Chrome's trace viewer.

Open ``chrome://tracing`` or https://ui.perfetto.dev and load the file.
"""

import contextlib
import functools
import glob
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator

from .. import _mge
from ..core.profiling_state import state
from ..files.opening import written_atomically
from ..logger import get_logger
from ..module import Module
from .profile_events import Note, Recording, memory_flow, timeline

__all__ = ["Profiler", "is_profiling", "merge_trace_events", "profile", "scope"]

_logger = get_logger(__name__)
_LARGE = 64 << 20  # bytes of a file that viewers become slow with

_running: "Profiler | None" = None


def is_profiling() -> bool:
    """Whether a profiler records.

    Example:
        >>> is_profiling()
        False
    """
    return _running is not None


def _note(phase: str, name: str) -> None:
    if _running is not None:
        now = time.monotonic_ns()
        _running._notes.append(Note(phase, name, now, threading.get_native_id()))


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """Give the operators in a ``with`` block a name in the profile.

    Args:
        name: any text.
    Example:
        >>> with scope("forward"):
        ...     y = F.ones(3) * 2
    """
    _note("B", name)
    try:
        yield
    finally:
        _note("E", name)


def _called_in_scope(call: Callable) -> Callable:
    """``Module.__call__`` that names the Modules it runs."""

    @functools.wraps(call)
    def wrapper(module, *inputs, **kwargs):
        with scope(module.name or module._short_name or type(module).__name__):
            return call(module, *inputs, **kwargs)

    return wrapper


class Profiler:
    """Records the operators that run, the compiled graphs of traced functions with their
    operators, scopes, and the memory in use; a context, or a decorator.

    The file is written at the stop; another start overwrites it. Operators of all threads are
    recorded. On asynchronous devices an operator's time comes from the device's clock, and the
    program waits only when the profiler stops; on a device without such a clock each operator is
    waited for.

    Args:
        path: folder of the files ``<process id>.<format>``; it is created.
        format: ``"chrome_timeline.json"``, or ``"memory_flow.svg"``: a picture of the memory of
            operators over time.
        formats: several of them, instead of ``format``.
        with_backtrace: no effect, with a warning.
        with_scopes: record the names of Modules, too.
        kwargs: ``profile_device=0`` omits the tracks of devices. ``sample_rate``,
            ``num_tensor_watch``, ``enable_cupti``: no effect, with a warning.
    Raises:
        AssertionError: there is no such format or option.
    Example:
        >>> import tempfile
        >>> profiler = Profiler(tempfile.mkdtemp())
        >>> with profiler, scope("sum"):
        ...     y = F.ones(3).sum()
        ...     _ = profiler.step()
        >>> with open(profiler.path) as file:
        ...     names = {event["name"] for event in json.load(file)["traceEvents"]}
        >>> {"sum", "full"} <= names
        True
        >>> Profiler("folder").format_path("folder", 7, "memory_flow.svg")
        'folder/7.memory_flow.svg'
        >>> profiler.directory == os.path.dirname(profiler.path), profiler.formats
        (True, ['chrome_timeline.json'])
        >>> _ = profiler.start()
        >>> is_profiling()
        True
        >>> profiler.stop()
    """

    CHROME_TIMELINE = "chrome_timeline.json"
    valid_formats = {CHROME_TIMELINE, "memory_flow.svg"}
    valid_options = {
        "sample_rate": 0,
        "profile_device": 1,
        "num_tensor_watch": 10,
        "enable_cupti": 0,
    }

    def __init__(
        self,
        path: str = "profile",
        format: str = CHROME_TIMELINE,
        formats: list[str] | None = None,
        with_backtrace: bool = False,
        with_scopes: bool = False,
        **kwargs,
    ):
        self._formats = list(formats) if formats else [format]
        for each in self._formats:
            assert each in self.valid_formats, f"unsupported format {each}"
        for name in kwargs:
            assert name in self.valid_options, f"unsupported option {name}"
        self._options = {**self.valid_options, **kwargs}
        self._warn_of_options(with_backtrace)
        self._path = path
        self._with_scopes = with_scopes
        self._pid = os.getpid()
        self._notes: list[Note] = []
        self._recording: Recording | None = None
        self._module_call: Callable | None = None

    def _warn_of_options(self, with_backtrace: bool) -> None:
        ignored = ("sample_rate", "num_tensor_watch", "enable_cupti")
        names = [name for name in ignored if self._options[name] != self.valid_options[name]]
        names += ["with_backtrace"] if with_backtrace else []
        for name in names:
            warnings.warn(f"[Profiler] {name} has no effect", UserWarning, stacklevel=4)

    @property
    def path(self) -> str:
        """The file of the first format."""
        return self.format_path(self._path, self._pid, self._formats[0])

    @property
    def directory(self) -> str:
        """The folder of the files."""
        return self._path

    @property
    def formats(self) -> list[str]:
        """The formats to write."""
        return self._formats

    def format_path(self, path: str, pid: int, format: str) -> str:
        """The name of a file.

        Args:
            path: the folder.
            pid: process id.
            format: its format.
        """
        return os.path.join(path, f"{pid}.{format}")

    def start(self) -> "Profiler":
        """Start recording.

        Raises:
            RuntimeError: another profiler is recording.
        """
        global _running
        if _running is not None:
            raise RuntimeError("[Profiler] one records already: stop it first")
        self._pid = os.getpid()
        self._notes = []
        self._recording = None
        state.calls = []
        if self._with_scopes:
            self._module_call = Module.__call__
            Module.__call__ = _called_in_scope(Module.__call__)
        _running = self
        self._began, self._local_time = time.monotonic_ns(), time.time_ns()
        _mge.start_recording()
        return self

    def stop(self) -> None:
        """Stop recording and write the files.

        Raises:
            OSError: a file cannot be written.
        """
        global _running
        if _running is not self:
            return
        try:
            operators, blocks = _mge.stop_recording()
        finally:
            if self._module_call is not None:
                Module.__call__, self._module_call = self._module_call, None
            calls, state.calls, _running = state.calls, None, None
        traced = [(began, json.loads(call.to_megengine())) for began, call in calls]
        self._recording = Recording(
            self._began,
            time.monotonic_ns(),
            self._local_time,
            self._pid,
            operators,
            blocks,
            traced,
            self._notes,
        )
        self.dump()

    def step(self) -> "Profiler":
        """Mark the end of a step in the profile."""
        _note("i", "StopStep")
        return self

    def dump(self) -> None:
        """Write the files again. ``stop`` writes the current recording.

        Raises:
            OSError: a file cannot be written.
        Example:
            >>> import tempfile
            >>> profiler = Profiler(tempfile.mkdtemp())
            >>> with profiler:
            ...     y = F.ones(3).sum()
            >>> os.remove(profiler.path)
            >>> profiler.dump()
            >>> os.path.exists(profiler.path)
            True
        """
        if self._recording is None:
            return
        os.makedirs(self._path, exist_ok=True)
        for each in self._formats:
            path = self.format_path(self._path, self._pid, each)
            if each == self.CHROME_TIMELINE:
                with_devices = bool(self._options["profile_device"])
                content = json.dumps(timeline(self._recording, with_devices))
            else:
                content = memory_flow(self._recording)
            with written_atomically(path) as file:
                file.write(content.encode())
            _logger.info("profiling results written to %s", path)
            if len(content) > _LARGE:
                _logger.warning("%s is larger than 64 MiB: profile fewer steps", path)

    def __enter__(self) -> "Profiler":
        return self.start()

    def __exit__(self, val, tp, trace) -> None:
        self.stop()

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return wrapper


def profile(*args, **kwargs):
    """A decorator that profiles each call: bare, or with the arguments of ``Profiler``.

    Args:
        args: the function, or arguments of ``Profiler``.
        kwargs: arguments of ``Profiler``.
    Returns:
        The function that is profiled, or a decorator.
    Example:
        >>> import tempfile
        >>> @profile(tempfile.mkdtemp())
        ... def double(x):
        ...     return x * 2
        >>> double(Tensor([1.0]))
        Tensor([2.], device=xpux:0)
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return Profiler()(args[0])
    return Profiler(*args, **kwargs)


def merge_trace_events(directory: str) -> None:
    """Join the timelines of several processes, by the time at which each began.

    Args:
        directory: with files ``<number>.chrome_timeline.json``; ``merge.chrome_timeline.json`` is
            written there.
    Raises:
        FileNotFoundError: there is no such file.
    Example:
        >>> with Profiler("merged", formats=["chrome_timeline.json"]):
        ...     _ = F.ones(2) + 1
        >>> merge_trace_events("merged")
        >>> os.path.exists("merged/merge.chrome_timeline.json")
        True
    """
    pattern = os.path.join(glob.escape(directory), f"[0-9]*.{Profiler.CHROME_TIMELINE}")
    profiles = []
    for path in sorted(glob.glob(pattern)):
        with open(path, encoding="utf-8") as file:
            profiles.append(json.load(file))
    if not profiles:
        raise FileNotFoundError(f"[merge_trace_events] there is no {pattern}")
    times = [int(each["metadata"]["localTime"]) for each in profiles]
    events = [
        {**event, "ts": event["ts"] + (begin - min(times)) / 1000} if "ts" in event else event
        for each, begin in zip(profiles, times, strict=True)
        for event in each["traceEvents"]
    ]
    merged = {"traceEvents": events, "metadata": {"localTime": str(min(times))}}
    with written_atomically(os.path.join(directory, f"merge.{Profiler.CHROME_TIMELINE}")) as file:
        file.write(json.dumps(merged).encode())
