// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/program.h"

namespace mge {

// A context that has no memory for inputs and outputs: before each run all of them are bound, outputs unless
// the program's options give them memory in each run. Null: working memory of its own.
std::unique_ptr<Context> create_bound_context(std::shared_ptr<const Program> program,
                                              std::shared_ptr<ContextMemory> memory = nullptr);

}  // namespace mge
