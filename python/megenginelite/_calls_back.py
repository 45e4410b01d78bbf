# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's: around a network's runs, in its threads, for its memory."""

from __future__ import annotations

import weakref

from . import _callback
from ._config import LiteIO
from ._library import (
    LiteAllocate,
    LiteAsyncCallback,
    LiteFinishCallback,
    LiteFree,
    LiteStartCallback,
    LiteThreadAffinityCallback,
    library,
)
from .struct import LiteDeviceType, LiteIOType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .tensor import LiteTensor


def copy_of(io: LiteIO) -> LiteIO:
    """A LiteIO of C's that outlives the call."""
    return LiteIO(io._name, bool(io.is_host), LiteIOType(io.io_type), io.config_layout)


class CallsBack:
    """The part of LiteNetwork that takes functions of the user's."""

    _network: int | None

    def __init__(self) -> None:
        # The functions that C calls; without these references Python would free them.
        self._thunks: dict[str, Any] = {}
        self._raised: list[BaseException] = []

    def _tensor(self, handle: int | None) -> LiteTensor:
        raise NotImplementedError

    def async_with_callback(self, async_callback: Callable[[], Any] | None) -> None:
        """Set a function that is called when all outputs are ready; no wait() is needed then.

        Args:
            async_callback: is called on a thread of the library. Its exceptions are logged, and
                raised by the next wait(). None removes the callback.
        Raises:
            RuntimeError: the network computes in forward(), or outputs are in the user's memory.
            TypeError: it cannot be called.
        """
        if async_callback is None:
            return self._set("async", library.LITE_set_async_callback, LiteAsyncCallback())
        _callback.check(async_callback, "the asynchronous callback")
        network = weakref.ref(self)

        def call_back() -> int:
            try:
                async_callback()
            except BaseException as error:  # noqa: BLE001
                _callback.log("the asynchronous callback", error)
                _keep(network, error)
            return 0

        self._set("async", library.LITE_set_async_callback, LiteAsyncCallback(call_back))

    def set_start_callback(
        self, start_callback: Callable[[dict[LiteIO, LiteTensor]], Any] | None
    ) -> None:
        """Have a function called by forward(), before the first operator.

        Args:
            start_callback: gets the inputs. An exception ends the run and leaves forward(). None
                removes the callback.
        Raises:
            TypeError: it cannot be called.
        """
        if start_callback is None:
            return self._set("start", library.LITE_set_start_callback, LiteStartCallback())
        _callback.check(start_callback, "the start callback")

        def call_back(inputs: Any, tensors: Any, size: int) -> int:
            try:
                call(inputs, tensors, size)
            except BaseException as error:  # noqa: BLE001
                _callback.keep(error)
                return 1
            return 0

        call = self._with_tensors(start_callback)
        self._set("start", library.LITE_set_start_callback, LiteStartCallback(call_back))

    def set_finish_callback(
        self, finish_callback: Callable[[dict[LiteIO, LiteTensor]], Any] | None
    ) -> None:
        """Have a function called when all outputs are there: by wait(), or after the asynchronous
        callback.

        Args:
            finish_callback: gets the outputs. Its exceptions leave wait(). None removes the
                callback.
        Raises:
            TypeError: it cannot be called.
        """
        if finish_callback is None:
            return self._set("finish", library.LITE_set_finish_callback, LiteFinishCallback())
        _callback.check(finish_callback, "the finish callback")
        network = weakref.ref(self)

        def call_back(outputs: Any, tensors: Any, size: int) -> int:
            try:
                call(outputs, tensors, size)
            except BaseException as error:  # noqa: BLE001
                if "async" in thunks:
                    _callback.log("the finish callback", error)
                _keep(network, error)
            return 0

        call, thunks = self._with_tensors(finish_callback), self._thunks
        self._set("finish", library.LITE_set_finish_callback, LiteFinishCallback(call_back))

    def set_runtime_thread_affinity(self, callback: Callable[[int], Any]) -> None:
        """Call a function once in each thread that computes, for example to bind it to a core.

        Args:
            callback: gets the number of the thread, from 0; the last one calls the runs. Its
                exceptions leave this function.
        Raises:
            RuntimeError: no model is loaded, or the network does not run on a CPU.
            TypeError: it cannot be called.
        Example:
            >>> import os
            >>> network = LiteNetwork()
            >>> network.load(model_path)
            >>> cores = sorted(os.sched_getaffinity(0))
            >>> def bind(thread):
            ...     os.sched_setaffinity(0, {cores[thread % len(cores)]})
            >>> network.set_runtime_thread_affinity(bind)
        """
        _callback.check(callback, "the affinity callback")
        raised: list[BaseException] = []

        def call_back(thread: int) -> int:
            try:
                callback(thread)
            except BaseException as error:  # noqa: BLE001
                raised.append(error)
            return 0

        library.LITE_set_runtime_thread_affinity(
            self._network, LiteThreadAffinityCallback(call_back)
        )
        if raised:
            raise raised[0]

    def set_memory_allocator(
        self,
        allocate: Callable[[LiteDeviceType, int, int, int], int | None],
        free: Callable[[LiteDeviceType, int, int], Any],
    ) -> None:
        """Take all memory of the network's runs from the caller.

        Several threads may call both functions. They are kept until the process ends.

        Args:
            allocate: gets the type and number of the device, the number of bytes, and their
                alignment. Returns the address, or None without memory.
            free: gets type and number of the device, and the address.
        Raises:
            RuntimeError: a model is loaded, or the network uses another network's memory.
            TypeError: one of the two cannot be called.
        """
        _callback.check(allocate, "the function that allocates")
        _callback.check(free, "the function that frees")

        def call_allocate(kind: int, number: int, size: int, align: int) -> int | None:
            try:
                return allocate(LiteDeviceType(kind), number, size, align)
            except BaseException as error:  # noqa: BLE001
                _callback.log("the function that allocates", error)
                _callback.keep(error)
                return None

        def call_free(kind: int, number: int, address: int) -> None:
            try:
                free(LiteDeviceType(kind), number, address)
            except BaseException as error:  # noqa: BLE001
                _callback.log("the function that frees", error)

        library.LITE_set_memory_allocator(
            self._network,
            _callback.forever(LiteAllocate(call_allocate)),
            _callback.forever(LiteFree(call_free)),
        )

    def _raise(self) -> None:
        raised, self._raised = self._raised, []
        raise raised[0]

    def _with_tensors(
        self, callback: Callable[[dict[LiteIO, LiteTensor]], Any]
    ) -> Callable[[Any, Any, int], None]:
        """Make a dictionary of C's arguments for a callback, without keeping the network."""
        network = weakref.ref(self)

        def call_back(ios: Any, tensors: Any, size: int) -> None:
            here = network()
            if here is not None:  # otherwise it is being destroyed
                callback({copy_of(ios[i]): here._tensor(tensors[i]) for i in range(size)})

        return call_back

    def _set(self, name: str, function: Any, thunk: Any) -> None:
        """Pass a function or null to C; the previous one is kept until C has the new one."""
        function(self._network, thunk)
        if thunk:
            self._thunks[name] = thunk
        else:
            self._thunks.pop(name, None)


def _keep(network: weakref.ref[CallsBack], error: BaseException) -> None:
    """Let an exception come out of the network's next wait()."""
    here = network()
    if here is not None:
        here._raised.append(error)
