// SPDX-License-Identifier: Apache-2.0
// fork() while another thread uses a part of the library for the first time: the child, which lacks this
// thread, must not wait for it. Each use is interrupted at each of its allocations, in a process that has
// used nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "libmge/device/cpu/caching_allocator.h"
#include "libmge/eager/tape.h"
#include "libmge/eager/written_elsewhere.h"
#include "libmge/inspect/operator_recorder.h"
#include "libmge/kernel/database.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/lite/c/objects.h"
#include "libmge/tensor/extent.h"
#include "tests/child_alarm.h"

namespace {

// The thread that counts its allocations stops at the last of them until it is released.
constinit thread_local long allocations_left = 0;
std::atomic<bool> is_stopped{false}, is_released{false};

void stop_at_last_allocation() {
    if (allocations_left == 0 || --allocations_left > 0) return;
    is_stopped = true;
    is_released.wait(false);
}

}  // namespace

// Not inlined: the compiler would take free() for the wrong partner of new.
[[gnu::noinline]] void* operator new(size_t size) {
    stop_at_last_allocation();
    if (void* block = std::malloc(size ? size : 1)) return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace mge {
namespace {

struct Use {
    const char* name;
    void (*run)();
};

constexpr int is_right = 0, is_finished = 1;  // exit codes of a child

// Runs `use` in a thread and forks when it is at its n-th allocation, or in its end.
int fork_inside(const Use& use, long n) {
    std::thread first([&] {
        allocations_left = n;
        use.run();
        if (allocations_left > 0) ::_exit(is_finished);
    });
    while (!is_stopped) std::this_thread::yield();
    // The thread may hold a lock that fork() waits for.
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        is_released = true;
        is_released.notify_all();
    }).detach();
    pid_t child = ::fork();
    if (child == 0) {
        ::alarm(child_seconds);
        use.run();
        ::_exit(is_right);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    first.join();
    return WIFEXITED(status) ? is_right : 2;
}

class FirstUse : public testing::TestWithParam<Use> {};

TEST_P(FirstUse, AChildDoesNotWaitForAThreadThatItLacks) {
    for (long n = 1;; ++n) {
        pid_t child = ::fork();
        if (child == 0) ::_exit(fork_inside(GetParam(), n));
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFEXITED(status));
        if (WEXITSTATUS(status) == is_finished) break;
        ASSERT_EQ(WEXITSTATUS(status), is_right) << "a child made at allocation " << n << " hangs";
    }
}

INSTANTIATE_TEST_SUITE_P(
    , FirstUse,
    testing::Values(Use{"Allocator", [] { cpu_allocator().allocate(100); }},
                    Use{"Extents", [] { static_cast<void>(Extent::symbol("n")); }},
                    Use{"Handles", [] { lite::c::tensors().add(nullptr); }},
                    Use{"PackedCopies", [] { packed_copies_of(nullptr); }},
                    Use{"Recorder", [] { operator_recorder().stop(); }},
                    Use{"Sqlite", [] { std::lock_guard lock(sqlite_mutex()); }}, Use{"Tape", [] { Tape(); }},
                    Use{"WrittenElsewhere", [] { is_written_elsewhere({}), is_any_written_elsewhere(); }}),
    [](auto& test) { return test.param.name; });

}  // namespace
}  // namespace mge
