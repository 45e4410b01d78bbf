/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The enums of Lite, for C and C++. Their values are those of MegEngine Lite; programs in other languages
 * rely on them. */

#include "lite/macro.h"

/* Level of the lines on standard error: this level and above. */
typedef enum LITE_ANY_INT {
    DEBUG = 0,
    INFO = 1,
    WARN = 2,
    ERROR = 3,
} LiteLogLevel;

typedef enum LITE_ANY_INT {
    OK = 0,
    LITE_INTERNAL_ERROR = 1,
    LITE_UNKNOWN_ERROR = 2,
} ErrorCode;

/* The engine that runs the model; there is one. */
typedef enum LITE_ANY_INT {
    LITE_DEFAULT = 0,
} LiteBackend;

/* The device type of a tensor or network. Using a type that this build does not support is an error. */
typedef enum LITE_ANY_INT {
    LITE_CPU = 0,
    LITE_CUDA = 1,
    LITE_ATLAS = 3,
    LITE_NPU = 4,
    LITE_CAMBRICON = 5,
    LITE_DEVICE_DEFAULT = 7, /* for a network: that of its file, otherwise the CPU */
} LiteDeviceType;

/* Element types. An element has 4, 2, 4, 2, 1, 1, 4, 2, 8, 1 and 8 bytes, in this order. MegEngine lacks the
   last two; a LITE_BOOL is a byte that is 0 or 1. */
typedef enum LITE_ANY_INT {
    LITE_FLOAT = 0,
    LITE_HALF = 1,
    LITE_INT = 2,
    LITE_INT16 = 3,
    LITE_INT8 = 4,
    LITE_UINT8 = 5,
    LITE_UINT = 6,
    LITE_UINT16 = 7,
    LITE_INT64 = 8,
    LITE_BOOL = 16,
    LITE_DOUBLE = 17,
} LiteDataType;

/* The tensors of a network that a name refers to; LITE_IO: the input of that name, otherwise the output. */
typedef enum LITE_ANY_INT {
    LITE_IO = 0,
    LITE_INPUT = 1,
    LITE_OUTPUT = 2,
} LiteTensorPhase;

/* Whether an output's values are computed, or only its shape. */
typedef enum LITE_ANY_INT {
    LITE_IO_VALUE = 0,
    LITE_IO_SHAPE = 1,
} LiteIOType;

/* How algorithms are chosen; flags that can be combined. */
typedef enum LITE_ANY_INT {
    LITE_ALGO_HEURISTIC = 1 << 0,
    LITE_ALGO_PROFILE = 1 << 1,      /* by measured times */
    LITE_ALGO_REPRODUCIBLE = 1 << 2, /* only algorithms with bit-identical results on every run */
    LITE_ALGO_OPTIMIZED = 1 << 3,    /* no reference algorithms */
} LiteAlgoSelectStrategy;

typedef enum LITE_ANY_INT {
    LITE_NOT_COMPAT = 0,
    LITE_SERIES_COMPAT = 1,
    LITE_VENDOR_COMPAT = 2,
    LITE_CACHE_COMPAT_LEVEL_CNT = 3,
} LiteOpenCLCacheCompatLevel;
