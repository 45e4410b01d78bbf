// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine behind a network, for tools that speak of both.

#include <memory>

#include "libmge/compile/program.h"
#include "lite/network.h"

namespace lite {

// Before loading: how it is compiled, all but place, threads and cache, instead of what its Config says.
MGE_API void compile_with(Network& network, const mge::CompileOptions& options);

// After loading, with the inputs as they are: what runs.
MGE_API mge::Context& context_of(Network& network);
MGE_API std::shared_ptr<const mge::Program> program_of(Network& network);

}  // namespace lite
