// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/per_process.h"

#include <pthread.h>

namespace mge {
namespace {

std::atomic<int> generation{0};

}  // namespace

int fork_generation() {
    static const int registered =
        pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    (void)registered;
    return generation.load(std::memory_order_relaxed);
}

}  // namespace mge
