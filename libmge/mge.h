// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything for a C++ program: tensors, operators, gradients, training, graphs, programs, models, and
// inspection. Libraries with custom operators include own_operators.h.

#if __cplusplus < 202002L
#error "libmge needs C++20: compile with -std=c++20, or link mge::mge in CMake, which asks for it"
#else

#include "libmge/base/error.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/threads.h"
#include "libmge/base/version.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/compile/parts.h"
#include "libmge/compile/program.h"
#include "libmge/compile/run/destroy.h"
#include "libmge/device/default_device.h"
#include "libmge/eager/tape.h"
#include "libmge/eager/trace.h"
#include "libmge/graph/builder.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/graph.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/receivers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/graph/static_infer.h"
#include "libmge/inspect/first_difference.h"
#include "libmge/inspect/guards.h"
#include "libmge/inspect/io_dump/io_dump.h"
#include "libmge/inspect/io_dump/io_dump_run.h"
#include "libmge/inspect/memory.h"
#include "libmge/inspect/profile/call_profiler.h"
#include "libmge/inspect/profile/profiler.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/open.h"
#include "libmge/op/apply.h"
#include "libmge/op/autocast.h"
#include "libmge/op/operator_library.h"
#include "libmge/ops/all.h"
#include "libmge/passes/pass.h"
#include "libmge/train/checkpoint.h"
#include "libmge/train/graph_function.h"
#include "libmge/train/optimizer.h"
#include "libmge/train/parameters.h"

#endif
