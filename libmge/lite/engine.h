// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine behind a network, for tools that use both.

#include <memory>

#include "libmge/compile/program.h"
#include "lite/network.h"

namespace lite {

// Before loading: compile options except device, threads and cache, instead of those of its Config.
MGE_API void compile_with(Network& network, const mge::CompileOptions& options);

// After loading, with the current inputs: the context that runs.
MGE_API mge::Context& context_of(Network& network);
MGE_API std::shared_ptr<const mge::Program> program_of(Network& network);

}  // namespace lite
