# SPDX-License-Identifier: Apache-2.0
"""A model that runs: load, fill the inputs, forward, wait, read the outputs."""

from __future__ import annotations

import os
import threading
import weakref
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p, string_at

from . import _callback
from ._calls_back import CallsBack, copy_of
from ._check import expect
from ._config import (
    LiteConfig,
    LiteExtraConfig,
    LiteIO,
    LiteNetworkIO,
    LiteOptions,
    _bytes_of,
    _LiteNetworkIO,
    _text_of,
)
from ._layout import MAX_DIM, LiteLayout, lite_dtype_2_numpy  # noqa: F401 - also found here
from ._library import LiteAsyncCallback, LiteFinishCallback, LiteStartCallback, library
from ._model_file import Model
from .struct import *  # noqa: F403 - scripts find all of them here
from .struct import LiteAlgoSelectStrategy, LiteDeviceType, LiteTensorPhase
from .tensor import LiteTensor, LiteTensorConcat, _Taken  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._model_file import ModelFile

__all__ = [
    "LiteAsyncCallback",
    "LiteConfig",
    "LiteExtraConfig",
    "LiteFinishCallback",
    "LiteIO",
    "LiteNetwork",
    "LiteNetworkIO",
    "LiteOptions",
    "LiteStartCallback",
    "get_model_io_info",
]

# Strings of the library are valid until the next query about the same memory.
_info_lock = threading.Lock()


def _path(path: str | os.PathLike[str]) -> bytes:
    return os.fsencode(path)


def _natural(name: str, number: int, kind: Any = c_size_t) -> int:
    """The number, which C takes as an unsigned one of a kind."""
    if number < 0:
        raise RuntimeError(f"[LiteNetwork] {name} is not negative, got {number}")
    if kind(number).value != number:
        raise RuntimeError(f"[LiteNetwork] {name} is too large: {number}")
    return number


class LiteNetwork(CallsBack):
    """A model that runs on one device. One thread at a time may use a network; several networks may
    run at once.

    Args:
        config: a LiteConfig; None: the defaults.
        io: a LiteNetworkIO; None: inputs and outputs follow the model, on the host.
    Attributes:
        config: the argument, or the defaults.
        network_io: the argument ``io``, or the defaults.
    Raises:
        RuntimeError: there is no such backend or type of device.
        TypeError: it is not a LiteConfig, or not a LiteNetworkIO.
    Example:
        >>> network = LiteNetwork()
        >>> network.load(model_path)
        >>> image = network.get_io_tensor(network.get_input_name(0))
        >>> image.set_data_by_copy(np.ones(image.layout.shapes, "float32"))
        >>> network.forward()
        >>> network.wait()
        >>> network.get_io_tensor(network.get_output_name(0)).to_numpy().shape
        (1, 1000)
    """

    def __init__(self, config: LiteConfig | None = None, io: LiteNetworkIO | None = None) -> None:
        super().__init__()
        self.config = expect(LiteConfig, config or LiteConfig(), "LiteNetwork")
        self.network_io = expect(LiteNetworkIO, io or LiteNetworkIO(), "LiteNetwork")
        made = c_void_p()
        library.LITE_make_network(byref(made), self.config, self.network_io._create_network_io())
        self._network = made.value
        self._model: Any = None  # may own the memory of the network's weights
        self._shares: list[LiteNetwork] = []  # networks whose memory this one uses
        # Memory by handle, kept while the network reads and writes it.
        self._taken: dict[int | None, _Taken] = {}
        # Also when the interpreter ends, before callbacks have no Python to run in.
        self._end = weakref.finalize(self, library.LITE_destroy_network, self._network)

    def __reduce__(self) -> Any:
        raise TypeError("a LiteNetwork can be neither copied nor pickled; load the model again")

    def __repr__(self) -> str:
        return repr({"config": self.config, "IOs": self.network_io})

    def load(self, file: ModelFile) -> None:
        """Load a model, whose format is detected from its contents, and compile it.

        Args:
            file: a path; or the contents, as bytes or a file opened for reading bytes.
        Raises:
            OSError: the file cannot be found.
            RuntimeError: it is not a model, is damaged, is encrypted differently, or does not fit
                the configuration; or the LiteNetworkIO has a name twice. The network can load
                another model then.
            ValueError: it is a remote path (``s3://…``).
        """
        model = Model(file)
        if model.path is not None:
            _callback.call(library.LITE_load_model_from_path, self._network, model.path)
        else:
            _callback.call(
                library.LITE_load_model_from_mem, self._network, model.address, model.size
            )
        self._note_loaded(model)

    def forward(self) -> None:
        """Start a run with the current inputs; waits for an earlier run.

        Raises:
            RuntimeError: no model is loaded, or the run cannot start.
            BaseException: the exception of the start callback.
        """
        if "start" in self._thunks:
            _callback.call(library.LITE_forward, self._network)
        else:
            library.LITE_forward(self._network)

    def wait(self) -> None:
        """Wait until the run is over and the outputs are there.

        Raises:
            RuntimeError: no model is loaded, or the run failed.
            BaseException: the exception of the asynchronous or the finish callback.
        """
        try:
            library.LITE_wait(self._network)
        finally:
            if self._raised:
                self._raise()

    def compute_only_configured_output(self) -> None:
        """Compute only the outputs that the LiteNetworkIO names.

        Raises:
            RuntimeError: a model is loaded.
        """
        library.LITE_compute_only_configured_output(self._network)

    def is_cpu_inplace_mode(self) -> bool:
        """Whether forward() computes on the caller's thread."""
        return bool(self._get(library.LITE_is_cpu_inplace_mode))

    def enable_cpu_inplace_mode(self) -> None:
        """Let forward() compute on the caller's thread.

        Raises:
            RuntimeError: a model is loaded, or the network does not run on a CPU.
        """
        library.LITE_set_cpu_inplace_mode(self._network)

    def use_tensorrt(self) -> None:
        """Request TensorRT.

        Raises:
            RuntimeError: this build has no such support.
        """
        library.LITE_use_tensorrt(self._network)

    @property
    def device_id(self) -> int:
        """Number of the device; set before loading."""
        return self._get(library.LITE_get_device_id)

    @device_id.setter
    def device_id(self, device_id: int) -> None:
        library.LITE_set_device_id(self._network, device_id)

    @property
    def stream_id(self) -> int:
        """Number of the device's queue; set before loading."""
        return self._get(library.LITE_get_stream_id)

    @stream_id.setter
    def stream_id(self, stream_id: int) -> None:
        library.LITE_set_stream_id(self._network, stream_id)

    @property
    def threads_number(self) -> int:
        """Number of CPU threads that compute; set before loading."""
        return self._get(library.LITE_get_cpu_threads_number, c_size_t)

    @threads_number.setter
    def threads_number(self, nr_threads: int) -> None:
        library.LITE_set_cpu_threads_number(self._network, _natural("threads_number", nr_threads))

    @property
    def device_type(self) -> LiteDeviceType:
        """The device type of the network; after loading, the one that was chosen."""
        return LiteDeviceType(self._get(library.LITE_get_device_type))

    def get_model_extra_info(self) -> str:
        """Return the additional information of a packed model; ``""`` without it."""
        text, size = c_char_p(), c_int()
        library.LITE_get_model_extra_info(self._network, byref(text), byref(size))
        return _text_of(string_at(text, size.value) if size.value else b"")

    def get_io_tensor(
        self, name: str, phase: LiteTensorPhase = LiteTensorPhase.LITE_IO
    ) -> LiteTensor:
        """Return an input or output of the network; forward() reads values that are written to it.

        Args:
            name: of the input or output.
            phase: selects the input or the output if both have the name.
        Raises:
            RuntimeError: no model is loaded, or it has no such input or output.
        """
        tensor = c_void_p()
        library.LITE_get_io_tensor(self._network, _bytes_of(name), phase, byref(tensor))
        return self._tensor(tensor.value)

    def get_discrete_tensor(
        self, name: str, n_idx: int, phase: LiteTensorPhase = LiteTensorPhase.LITE_INPUT
    ) -> LiteTensor:
        """Return one image of the input that the configuration calls discrete_input_name.

        Args:
            name: of the input.
            n_idx: index of the image in the batch.
            phase: ``LITE_INPUT``.
        Raises:
            RuntimeError: it is not the discrete input, or the batch has no such image.
        """
        tensor = c_void_p()
        library.LITE_get_discrete_tensor(
            self._network, _bytes_of(name), _natural("index", n_idx), phase, byref(tensor)
        )
        return self._tensor(tensor.value)

    def get_input_name(self, index: int) -> str:
        """Return the name of an input.

        Args:
            index: index in the order of the model.
        Raises:
            RuntimeError: no model is loaded, or it has no such input.
        """
        return self._name(library.LITE_get_input_name, index)

    def get_output_name(self, index: int) -> str:
        """Return the name of an output.

        Args:
            index: index in the order of the model.
        Raises:
            RuntimeError: no model is loaded, or it has no such output.
        """
        return self._name(library.LITE_get_output_name, index)

    def get_all_input_name(self) -> list[str]:
        """Return the names of all inputs, in the order of the model.

        Raises:
            RuntimeError: no model is loaded.
        """
        return self._names(library.LITE_get_all_input_name)

    @property
    def input_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """The shapes of all inputs by name: ``{"x": ("batch", 3, 224, 224)}``.

        An open dimension is the name that the file gives it, or None.

        Raises:
            RuntimeError: no model is loaded.
        """
        result: dict[str, tuple[int | str | None, ...]] = {}
        for index, name in enumerate(self.get_all_input_name()):
            sizes = self.get_io_tensor(name, LiteTensorPhase.LITE_INPUT).layout.shapes
            result[name] = tuple(
                self._dimension(index, axis, size) for axis, size in enumerate(sizes)
            )
        return result

    def _dimension(self, index: int, axis: int, size: int) -> int | str | None:
        name = c_char_p()
        library.LITE_get_input_dimension_name(self._network, index, axis, byref(name))
        return size if name.value is None else _text_of(name.value) or None

    def get_all_output_name(self) -> list[str]:
        """Return the names of all outputs, in the order of the model.

        Raises:
            RuntimeError: no model is loaded.
        """
        return self._names(library.LITE_get_all_output_name)

    def extra_configure(self, extra_config: LiteExtraConfig) -> None:
        """Change further settings before loading.

        Args:
            extra_config: a LiteExtraConfig.
        """
        library.LITE_extra_configure(self._network, extra_config)

    def share_weights_with(self, src_network: LiteNetwork) -> None:
        """Load the model of another network and share its weights in memory; both may run at once.

        Args:
            src_network: a network with a model; it may be destroyed afterwards.
        Raises:
            RuntimeError: ``src_network`` has no model, or is this network.
            TypeError: it is not a LiteNetwork.
        """
        expect(LiteNetwork, src_network, "share_weights_with")
        _callback.call(library.LITE_shared_weight_with_network, self._network, src_network._network)
        self._note_loaded(src_network._model)

    def share_runtime_memory(self, src_network: LiteNetwork) -> None:
        """Share another network's memory for intermediate values.

        The two must not run at once. MegEngine also calls it ``share_runtime_memroy``.

        Args:
            src_network: the other network; this one must not be loaded yet.
        Raises:
            RuntimeError: this network is loaded, or is ``src_network`` itself.
            TypeError: it is not a LiteNetwork.
        """
        expect(LiteNetwork, src_network, "share_runtime_memory")
        library.LITE_share_runtime_memory(self._network, src_network._network)
        self._shares.append(src_network)

    share_runtime_memroy = share_runtime_memory

    def enable_profile_performance(self, profile_file: str | os.PathLike[str]) -> None:
        """Write the times of each run's operators, as JSON that ``mge-profile`` reads.

        Args:
            profile_file: is written anew after each run; ``""``: no more.
        """
        library.LITE_enable_profile_performance(self._network, _path(profile_file))

    def set_network_algo_workspace_limit(self, size_limit: int) -> None:
        """Take only algorithms that need little scratch memory.

        Args:
            size_limit: bytes.
        Raises:
            RuntimeError: no model is loaded, or the limit is negative.
        """
        limit = _natural("size_limit", size_limit)
        library.LITE_set_network_algo_workspace_limit(self._network, limit)

    def set_network_algo_policy(
        self,
        policy: LiteAlgoSelectStrategy | int,
        shared_batch_size: int = 0,
        binary_equal_between_batch: bool = False,
    ) -> None:
        """Set how the algorithms of operators are chosen.

        Args:
            policy: ``LITE_ALGO_HEURISTIC`` or ``LITE_ALGO_PROFILE``, and optional other flags.
            shared_batch_size: algorithms are measured for this batch size and used for all; 0: each
                batch size is measured.
            binary_equal_between_batch: equal images of a batch have bit-identical results.
        Raises:
            RuntimeError: the policy contains neither.
        """
        batch = _natural("shared_batch_size", shared_batch_size, c_uint)
        library.LITE_set_network_algo_policy(self._network, policy)
        # The policy sets these to 0.
        library.LITE_set_network_algo_fastrun_config(
            self._network, batch, int(binary_equal_between_batch)
        )

    def io_txt_dump(self, txt_file: str | os.PathLike[str]) -> None:
        """Write every value of each run to a text file.

        Args:
            txt_file: path of the file; ``""`` ends the dump, of either kind.
        """
        library.LITE_enable_io_txt_dump(self._network, _path(txt_file))

    def io_bin_dump(self, bin_dir: str | os.PathLike[str]) -> None:
        """Write every value of each run to a separate file.

        Args:
            bin_dir: the folder, which is made if it is not there; ``""`` ends the dump, of either
                kind.
        """
        library.LITE_enable_io_bin_dump(self._network, _path(bin_dir))

    def get_static_memory_alloc_info(self, log_dir: str | os.PathLike[str] = "logs/test") -> None:
        """Write the memory plan as JSON.

        Args:
            log_dir: the folder, which is made if it is not there.
        Raises:
            RuntimeError: no model is loaded, or the folder cannot be made.
        """
        library.LITE_get_static_memory_alloc_info(self._network, _path(log_dir))

    def enable_global_layout_transform(self) -> None:
        """Choose the layouts of images by measured times when loading.

        Raises:
            RuntimeError: a model is loaded.
        """
        library.LITE_enable_global_layout_transform(self._network)

    def dump_layout_transform_model(self, model_file: str | os.PathLike[str]) -> None:
        """Write the model with the layouts that were chosen.

        Args:
            model_file: path of the file.
        Raises:
            RuntimeError: enable_global_layout_transform() was not called, or no model is loaded.
        """
        library.LITE_dump_layout_transform_model(self._network, _path(model_file))

    def _get(self, function: Any, kind: Any = c_int) -> int:
        value = kind()
        function(self._network, byref(value))
        return int(value.value)

    def _name(self, function: Any, index: int) -> str:
        name = c_char_p()
        function(self._network, _natural("index", index), byref(name))
        return _text_of(name.value)

    def _names(self, function: Any) -> list[str]:
        count = c_size_t()
        function(self._network, byref(count), None)
        names = (c_char_p * count.value)()
        if count.value:
            function(self._network, None, names)
        return [_text_of(name) for name in names]

    def _note_loaded(self, model: Any) -> None:
        """Keep the model, and release the memory of the previous model's tensors."""
        self._model = model
        self._taken = {}

    def _tensor(self, handle: int | None) -> LiteTensor:
        return LiteTensor._of(handle, self, self._taken.setdefault(handle, _Taken()))


def get_model_io_info(model_path: ModelFile, config: LiteConfig | None = None) -> LiteNetworkIO:
    """Return the inputs and outputs of a model without loading it.

    Args:
        model_path: as LiteNetwork.load() takes it.
        config: the model's encryption and further settings; None: the defaults.
    Returns:
        A LiteNetworkIO whose LiteIOs have layouts. A layout without dimensions is unknown before a
        run.
    Raises:
        OSError: the file cannot be found.
        RuntimeError: it is not a model, or is damaged.
    Example:
        >>> get_model_io_info(model_path).outputs[0].config_layout.shapes
        [1, 1000]
    """
    model = Model(model_path)
    config = config or LiteConfig()
    found = _LiteNetworkIO()
    with _info_lock:
        if model.path is not None:
            function: Any = library.LITE_get_model_io_info_by_path
            _callback.call(function, model.path, config, byref(found))
        else:
            function = library.LITE_get_model_io_info_by_memory
            _callback.call(function, model.address, model.size, config, byref(found))
        return LiteNetworkIO(
            [copy_of(found.inputs[i]) for i in range(found.input_size)],
            [copy_of(found.outputs[i]) for i in range(found.output_size)],
        )
