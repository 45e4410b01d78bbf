// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <exception>
#include <utility>

namespace mge {

// For work shared by several threads: an exception must not leave its thread (that would end the process), so
// it is stored and rethrown after they have joined.
class FirstFailure {
public:
    template <class Fn>
    void guard(Fn&& fn) noexcept {
        try {
            std::forward<Fn>(fn)();
        } catch (...) {
            if (!exists_.exchange(true)) failure_ = std::current_exception();
        }
    }
    bool exists() const { return exists_.load(std::memory_order_relaxed); }
    // Only when all threads are done.
    void rethrow() {
        if (failure_) [[unlikely]]
            std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    std::atomic<bool> exists_{false};
    std::exception_ptr failure_;
};

}  // namespace mge
