// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/program.h"

namespace mge {

// Creates a context without memory for inputs and outputs. Before each run all of them must be bound, except
// outputs that the program's options allocate in each run. If `memory` is null, the context has working
// memory of its own.
std::unique_ptr<Context> create_bound_context(std::shared_ptr<const Program> program,
                                              std::shared_ptr<ContextMemory> memory = nullptr);

// Binds an input of such a context. The value may have any size where the program's input has no known one.
// It is plain and on the input's device.
void bind_input(Context& bound_context, size_t i, const Tensor& value);

}  // namespace mge
