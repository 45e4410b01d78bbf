// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/async_level.h"

#include <atomic>

#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr int highest = 2;

std::atomic<int> level_of_process{highest};

}  // namespace

int async_level() { return level_of_process.load(std::memory_order_relaxed); }

void set_async_level(int level) {
    if (level < 0 || level > highest)
        throw_user("config", text("async_level must be 0, 1 or 2, got ", level), ErrorClass::assertion);
    level_of_process = level;
}

}  // namespace mge
