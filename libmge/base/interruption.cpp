// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/interruption.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr std::chrono::milliseconds longest_poll(100);
std::atomic<void (*)()> interruption{nullptr};
thread_local void (*interruption_of_thread)() = nullptr;

}  // namespace

void set_interruption(void (*may_throw)()) { interruption = may_throw; }

void set_interruption_of_thread(void (*may_throw)()) { interruption_of_thread = may_throw; }

void check_interruption() {
    if (interruption_of_thread) return interruption_of_thread();
    if (auto may_throw = interruption.load()) may_throw();
}

int wait_for_events(std::span<pollfd> entries, Deadline end) {
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        left = std::clamp(left, {}, longest_poll);
        int ready = ::poll(entries.data(), entries.size(), int(left.count()));
        if (ready > 0) return ready;
        if (ready < 0 && errno != EINTR) throw UserError(text("cannot wait: ", std::strerror(errno)));
        check_interruption();
        if (std::chrono::steady_clock::now() >= end) return 0;
    }
}

}  // namespace mge
