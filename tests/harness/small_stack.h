// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread whose stack is small, as threads of other programs may be.

#include <gtest/gtest.h>
#include <pthread.h>

#include <unistd.h>

#include <algorithm>
#include <functional>

namespace mge::test {

// Runs `work` on a stack of `bytes`, or of the least that the system permits. An overflow ends the program.
inline void on_small_stack(std::function<void()> work, size_t bytes = 64 << 10) {
    pthread_attr_t attributes;
    pthread_t thread;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    bytes = std::max(bytes, size_t(::sysconf(_SC_THREAD_STACK_MIN)));  // 128 KiB on 64-bit Arm
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    auto run = [](void* work) -> void* {
        (*static_cast<std::function<void()>*>(work))();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, nullptr);
}

}  // namespace mge::test
