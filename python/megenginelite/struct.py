# SPDX-License-Identifier: Apache-2.0
"""The enums of the interface; their values are those of lite/common_enum_c.h."""

from enum import IntEnum, IntFlag


class LiteLogLevel(IntEnum):
    """The log level: messages of this level and above go to standard error."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


class LiteBackend(IntEnum):
    """The engine that runs a model; there is one."""

    LITE_DEFAULT = 0


class LiteDeviceType(IntEnum):
    """The type of device of a tensor or network; ``LITE_DEVICE_DEFAULT``: as the model file
    specifies."""

    LITE_CPU = 0
    LITE_CUDA = 1
    LITE_ATLAS = 3
    LITE_NPU = 4
    LITE_CAMBRICON = 5
    LITE_DEVICE_DEFAULT = 7


class LiteDataType(IntEnum):
    """The type of a tensor's elements; MegEngine lacks the last two."""

    LITE_FLOAT = 0
    LITE_HALF = 1
    LITE_INT = 2
    LITE_INT16 = 3
    LITE_INT8 = 4
    LITE_UINT8 = 5
    LITE_UINT = 6
    LITE_UINT16 = 7
    LITE_INT64 = 8
    LITE_BOOL = 16
    LITE_DOUBLE = 17


class LiteTensorPhase(IntEnum):
    """The tensors of a network that a name refers to; ``LITE_IO``: the input, else the output."""

    LITE_IO = 0
    LITE_INPUT = 1
    LITE_OUTPUT = 2


class LiteIOType(IntEnum):
    """Whether a run computes an output's values, or its shape only."""

    LITE_IO_VALUE = 0
    LITE_IO_SHAPE = 1


class LiteAlgoSelectStrategy(IntFlag):
    """How the algorithms of operators are chosen; combine flags with ``|``.

    ``LITE_ALGO_HEURISTIC`` uses the built-in order of preference, ``LITE_ALGO_PROFILE`` measures.
    With ``LITE_ALGO_REPRODUCIBLE`` only algorithms with bit-identical results on every run are
    used, with ``LITE_ALGO_OPTIMIZED`` no reference algorithms.

    Example:
        >>> LiteAlgoSelectStrategy.LITE_ALGO_PROFILE | LiteAlgoSelectStrategy.LITE_ALGO_REPRODUCIBLE
        <LiteAlgoSelectStrategy.LITE_ALGO_PROFILE|LITE_ALGO_REPRODUCIBLE: 6>
    """

    LITE_ALGO_HEURISTIC = 1
    LITE_ALGO_PROFILE = 2
    LITE_ALGO_REPRODUCIBLE = 4
    LITE_ALGO_OPTIMIZED = 8
