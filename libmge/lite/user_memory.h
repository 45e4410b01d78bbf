// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/run/context_memory.h"
#include "lite/network.h"

namespace lite {

// What the engine allocates comes from the user's allocator, and goes back to it.
std::shared_ptr<mge::ContextAllocator> user_memory(std::shared_ptr<Allocator> allocator);

}  // namespace lite
