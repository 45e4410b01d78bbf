// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/run/context_memory.h"
#include "lite/network.h"

namespace lite {

// The engine's memory is allocated and freed by the user's allocator.
std::shared_ptr<mge::ContextAllocator> user_memory(std::shared_ptr<Allocator> allocator);

}  // namespace lite
