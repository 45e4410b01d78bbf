// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/per_process.h"

#include "libmge/base/threads/at_fork.h"

namespace mge {
namespace {

constinit std::atomic<int> generation{0};
const InChild count_generation([] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

int fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace mge
