# SPDX-License-Identifier: Apache-2.0
"""The numbers that the interface gives names to; they are those of lite/common_enum_c.h."""

from enum import IntEnum, IntFlag


class LiteLogLevel(IntEnum):
    """What is written to standard error: lines of this level and above."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


class LiteBackend(IntEnum):
    """What runs a model; there is one."""

    LITE_DEFAULT = 0


class LiteDeviceType(IntEnum):
    """Where a tensor lies or a network runs; ``LITE_DEVICE_DEFAULT``: where the model file says."""

    LITE_CPU = 0
    LITE_CUDA = 1
    LITE_ATLAS = 3
    LITE_NPU = 4
    LITE_CAMBRICON = 5
    LITE_DEVICE_DEFAULT = 7


class LiteDataType(IntEnum):
    """Of a tensor's elements."""

    LITE_FLOAT = 0
    LITE_HALF = 1
    LITE_INT = 2
    LITE_INT16 = 3
    LITE_INT8 = 4
    LITE_UINT8 = 5
    LITE_UINT = 6
    LITE_UINT16 = 7
    LITE_INT64 = 8


class LiteTensorPhase(IntEnum):
    """Which tensors of a network a name means; ``LITE_IO``: the input, or else the output."""

    LITE_IO = 0
    LITE_INPUT = 1
    LITE_OUTPUT = 2


class LiteIOType(IntEnum):
    """What is wanted of an output: its values, or its shape only."""

    LITE_IO_VALUE = 0
    LITE_IO_SHAPE = 1


class LiteAlgoSelectStrategy(IntFlag):
    """How the algorithms of operators are chosen; combined with ``|``.

    ``LITE_ALGO_HEURISTIC`` takes what is known to be good, ``LITE_ALGO_PROFILE`` measures. With
    ``LITE_ALGO_REPRODUCIBLE`` only those are taken whose results are the same bits each time, with
    ``LITE_ALGO_OPTIMIZED`` none that is slow on purpose.

    Example:
        >>> LiteAlgoSelectStrategy.LITE_ALGO_PROFILE | LiteAlgoSelectStrategy.LITE_ALGO_REPRODUCIBLE
        <LiteAlgoSelectStrategy.LITE_ALGO_PROFILE|LITE_ALGO_REPRODUCIBLE: 6>
    """

    LITE_ALGO_HEURISTIC = 1
    LITE_ALGO_PROFILE = 2
    LITE_ALGO_REPRODUCIBLE = 4
    LITE_ALGO_OPTIMIZED = 8
