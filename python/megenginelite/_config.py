# SPDX-License-Identifier: Apache-2.0
"""Configuration of a network before it loads its model, with the memory layout of C."""

from __future__ import annotations

from ctypes import POINTER, c_char_p, c_int, c_size_t

from ._check import Struct, named
from ._layout import LiteLayout
from .struct import LiteBackend, LiteDeviceType, LiteIOType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_FLAGS = (
    "weight_preprocess",
    "fuse_preprocess",
    "fake_next_exec",
    "var_sanity_check_first_run",
    "const_shape",
    "force_dynamic_alloc",
    "force_output_dynamic_alloc",
    "force_output_use_user_specified_memory",
    "no_profiling_on_shape_change",
)
_LEVELS = ("jit_level", "comp_node_seq_record_level", "graph_opt_level", "async_exec_level")
_LAYOUTS = (
    "enable_nchw44",
    "enable_nchw44_dot",
    "enable_nchw88",
    "enable_nhwcd4",
    "enable_nchw4",
    "enable_nchw32",
    "enable_nchw64",
)
_NUMBERS = ("enable_f16_io_comp", "precision", "weight_bits", "copy_model_files")


def _bytes_of(name: str | bytes | None) -> bytes:
    """A name as bytes for C; a number would be taken as an address.

    Raises:
        AssertionError: it is neither text nor bytes.
    """
    if not isinstance(name, (str, bytes, type(None))):
        raise AssertionError(f"a name is str or bytes, got {type(name).__name__}")
    return name.encode(errors="surrogateescape") if isinstance(name, str) else name or b""


def _text_of(name: bytes | None) -> str:
    """A name from C as text; bytes that are not UTF-8 become surrogates, as in paths."""
    return (name or b"").decode(errors="surrogateescape")


class LiteOptions(Struct):
    """How a model is compiled; ``docs/compile-options.md`` describes each option.

    All are numbers, 0 and 1 where an option is on or off.

    Attributes:
        weight_preprocess: weights are packed for the kernels when the model is loaded.
        fuse_preprocess: the preparation of images is fused with the first operator.
        fake_next_exec: the first run only allocates.
        var_sanity_check_first_run: the first run checks what operators write (1).
        const_shape: shapes of inputs never change.
        force_dynamic_alloc: each value is allocated when it is computed.
        force_output_dynamic_alloc: outputs are returned in the run's own memory, without a copy.
        force_output_use_user_specified_memory: outputs are written to the user's memory.
        no_profiling_on_shape_change: new shapes do not measure algorithms.
        jit_level: 0, 1 (elementwise operators are fused) or 2 (reductions, too).
        comp_node_seq_record_level: 0, 1 (a run is recorded) or 2 (and the graph released).
        graph_opt_level: 0 to 3 (2).
        async_exec_level: how devices run (1).
        enable_nchw44, enable_nchw44_dot, enable_nchw88: the internal layout of images.
        enable_nhwcd4, enable_nchw4, enable_nchw32, enable_nchw64: further layouts; at most one of
            the seven.
        enable_f16_io_comp: inputs, outputs and arithmetic are float16.
        precision: how far results may be from float32 arithmetic where that is faster: 0 strict,
            1 relaxed (factors of products as bfloat16), 2 fast (values between steps, too).
        weight_bits: number of bits per weight in linear layers: 8 or 4; 0: unchanged, or as the
            model specifies.
        copy_model_files: 1: model files are read into memory instead of being mapped, for files
            that may change while in use.
    Example:
        >>> options = LiteOptions()
        >>> options.const_shape = 1
        >>> options.graph_opt_level
        2
    """

    _fields_ = [(name, c_int) for name in _FLAGS + _LEVELS + _LAYOUTS + _NUMBERS]

    weight_preprocess: int
    fuse_preprocess: int
    fake_next_exec: int
    var_sanity_check_first_run: int
    const_shape: int
    force_dynamic_alloc: int
    force_output_dynamic_alloc: int
    force_output_use_user_specified_memory: int
    no_profiling_on_shape_change: int
    jit_level: int
    comp_node_seq_record_level: int
    graph_opt_level: int
    async_exec_level: int
    enable_nchw44: int
    enable_nchw44_dot: int
    enable_nchw88: int
    enable_nhwcd4: int
    enable_nchw4: int
    enable_nchw32: int
    enable_nchw64: int
    enable_f16_io_comp: int
    precision: int
    weight_bits: int
    copy_model_files: int

    def __init__(self) -> None:
        super().__init__(var_sanity_check_first_run=1, graph_opt_level=2, async_exec_level=1)

    def __repr__(self) -> str:
        fields: dict[str, Any] = {name: bool(getattr(self, name)) for name in _FLAGS}
        fields |= {name: getattr(self, name) for name in _LEVELS}
        fields |= {name: bool(getattr(self, name)) for name in _LAYOUTS if getattr(self, name)}
        fields |= {name: getattr(self, name) for name in _NUMBERS if getattr(self, name)}
        return repr(fields)


class LiteConfig(Struct):
    """The device of a network, its compile options, and how its model is encrypted.

    Args:
        device_type: the type of device that runs it.
        option: a LiteOptions, or None for the defaults.
    Attributes:
        has_compression: weights may be stored in 8 or 16 bits; they are recognised anyway.
        device_id: number of the device; -1: 0.
        device_type: a LiteDeviceType.
        backend: a LiteBackend.
        options: a LiteOptions.
        auto_optimize_inference: 1: the engine chooses layouts and packs weights.
    Raises:
        AssertionError: a name that is set is neither str nor bytes.
        AttributeError: there is no attribute of the name that is set.
    Example:
        >>> config = LiteConfig()
        >>> config.options.weight_preprocess = 1
        >>> config.bare_model_cryption_name = "AES_default"
        >>> config.bare_model_cryption_name
        'AES_default'
    """

    _fields_ = [
        ("has_compression", c_int),
        ("device_id", c_int),
        ("device_type", c_int),
        ("backend", c_int),
        ("_bare_model_cryption_name", c_char_p),
        ("options", LiteOptions),
        ("auto_optimize_inference", c_int),
        ("_discrete_input_name", c_char_p),
    ]

    has_compression: int
    device_id: int
    device_type: int
    backend: int
    options: LiteOptions
    auto_optimize_inference: int

    def __init__(
        self,
        device_type: LiteDeviceType = LiteDeviceType.LITE_CPU,
        option: LiteOptions | None = None,
    ) -> None:
        super().__init__(
            device_type=device_type,
            backend=LiteBackend.LITE_DEFAULT,
            options=option or LiteOptions(),
            _bare_model_cryption_name=b"",
            _discrete_input_name=b"",
        )

    @property
    def bare_model_cryption_name(self) -> str:
        """Name of the cipher of a model that is not packed; set from str or bytes."""
        return _text_of(self._bare_model_cryption_name)

    @bare_model_cryption_name.setter
    def bare_model_cryption_name(self, name: str | bytes) -> None:
        self._bare_model_cryption_name = _bytes_of(name)

    @property
    def discrete_input_name(self) -> bytes:
        """Name of an input whose images are given as separate tensors; set from str or bytes."""
        return self._discrete_input_name or b""

    @discrete_input_name.setter
    def discrete_input_name(self, name: str | bytes) -> None:
        self._discrete_input_name = _bytes_of(name)

    def __repr__(self) -> str:
        fields = {
            "has_compression": bool(self.has_compression),
            "device_id": self.device_id,
            "device_type": named(LiteDeviceType, self.device_type),
            "backend": named(LiteBackend, self.backend),
            "bare_model_cryption_name": self.bare_model_cryption_name,
            "options": self.options,
            "auto_optimize_inference": self.auto_optimize_inference,
            "discrete_input_name": self.discrete_input_name,
        }
        return repr(fields)


class LiteExtraConfig(Struct):
    """Further settings of a network.

    Args:
        disable_model_config: the configuration inside a packed model is ignored.
    """

    _fields_ = [("disable_configure_by_model_info", c_int)]

    disable_configure_by_model_info: int

    def __init__(self, disable_model_config: bool = False) -> None:
        super().__init__(int(disable_model_config))

    def __repr__(self) -> str:
        return repr({"disable_configure_by_model_info": bool(self.disable_configure_by_model_info)})


class LiteIO(Struct):
    """Settings of one input or output.

    Args:
        name: name of the input or output; str or bytes.
        is_host: True: its data is on the host; False: on the network's device.
        io_type: a LiteIOType: values, or the shape only.
        layout: layout of an input that replaces the model's.
    Attributes:
        is_host: 0 or 1.
        io_type: number of the LiteIOType.
        config_layout: a LiteLayout.
    Raises:
        AssertionError: the name is neither str nor bytes.
    Example:
        >>> LiteIO("data", layout=LiteLayout([2, 3, 224, 224])).name
        'data'
    """

    _fields_ = [
        ("_name", c_char_p),
        ("is_host", c_int),
        ("io_type", c_int),
        ("config_layout", LiteLayout),
    ]

    is_host: int
    io_type: int
    config_layout: LiteLayout

    def __init__(
        self,
        name: str | bytes,
        is_host: bool = True,
        io_type: LiteIOType = LiteIOType.LITE_IO_VALUE,
        layout: LiteLayout | None = None,
    ) -> None:
        super().__init__(_bytes_of(name), int(is_host), io_type, layout or LiteLayout())

    @property
    def name(self) -> str:
        """The name; set from str or bytes."""
        return _text_of(self._name)

    @name.setter
    def name(self, name: str | bytes) -> None:
        self._name = _bytes_of(name)

    def __repr__(self) -> str:
        fields = {
            "name": self.name,
            "is_host": bool(self.is_host),
            "io_type": named(LiteIOType, self.io_type),
            "config_layout": self.config_layout,
        }
        return repr(fields)

    def __hash__(self) -> int:
        return hash(self.name)


class _LiteNetworkIO(Struct):
    """The struct that C programs call LiteNetworkIO."""

    _fields_ = [
        ("inputs", POINTER(LiteIO)),
        ("outputs", POINTER(LiteIO)),
        ("input_size", c_size_t),
        ("output_size", c_size_t),
    ]


class LiteNetworkIO:
    """Settings of the inputs and outputs of a network; all others have the defaults.

    Args:
        inputs, outputs: LiteIOs, or lists of arguments of LiteIO.
    Attributes:
        inputs, outputs: list of LiteIO.
    Example:
        >>> io = LiteNetworkIO([LiteIO("data", is_host=False)], [["scores", True]])
        >>> io.add_output("shape", io_type=LiteIOType.LITE_IO_SHAPE)
        >>> [output.name for output in io.outputs]
        ['scores', 'shape']
    """

    __slots__ = ("inputs", "outputs")

    def __init__(
        self,
        inputs: Iterable[LiteIO | Sequence[Any]] | None = None,
        outputs: Iterable[LiteIO | Sequence[Any]] | None = None,
    ) -> None:
        self.inputs: list[LiteIO] = []
        self.outputs: list[LiteIO] = []
        for given, add in ((inputs, self.add_input), (outputs, self.add_output)):
            for io in given or ():
                if isinstance(io, (LiteIO, str, bytes)):
                    add(io)
                else:
                    add(*io)

    def add_input(
        self,
        obj: LiteIO | str | bytes,
        is_host: bool = True,
        io_type: LiteIOType = LiteIOType.LITE_IO_VALUE,
        layout: LiteLayout | None = None,
    ) -> None:
        """Add an input.

        Args:
            obj: a LiteIO, or a name; with a name, the other arguments are those of LiteIO.
            is_host, io_type, layout: see LiteIO.
        """
        if not isinstance(obj, LiteIO):
            obj = LiteIO(obj, is_host, io_type, layout)
        self.inputs.append(obj)

    def add_output(
        self,
        obj: LiteIO | str | bytes,
        is_host: bool = True,
        io_type: LiteIOType = LiteIOType.LITE_IO_VALUE,
        layout: LiteLayout | None = None,
    ) -> None:
        """Add an output; see ``add_input``."""
        if not isinstance(obj, LiteIO):
            obj = LiteIO(obj, is_host, io_type, layout)
        self.outputs.append(obj)

    def _create_network_io(self) -> _LiteNetworkIO:
        """The same for C; names live as long as the result and this object do."""
        inputs = (LiteIO * len(self.inputs))(*self.inputs)
        outputs = (LiteIO * len(self.outputs))(*self.outputs)
        return _LiteNetworkIO(inputs, outputs, len(self.inputs), len(self.outputs))

    def __repr__(self) -> str:
        return repr({"inputs": list(self.inputs), "outputs": list(self.outputs)})
