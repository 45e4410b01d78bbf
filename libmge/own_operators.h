// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything for a library of custom operators: their definition and registration, the operators for their
// gradients, and the helpers of CPU kernels.

#if __cplusplus < 202002L
#error "libmge needs C++20: compile with -std=c++20, or link mge::mge in CMake, which asks for it"
#else

#include "libmge/base/error.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/op/define.h"
#include "libmge/op/operator_library.h"
#include "libmge/ops/all.h"
#include "libmge/tensor/dtype_dispatch.h"

#endif
