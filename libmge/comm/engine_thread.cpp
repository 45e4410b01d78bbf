// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/engine_thread.h"

#include <chrono>
#include <utility>

#include "libmge/base/interruption.h"

namespace mge {
namespace {

constexpr std::chrono::milliseconds watch_interval(100);

}  // namespace

EngineThread::EngineThread() : thread_([this] { loop(); }) {}

EngineThread::~EngineThread() {
    {
        std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    given_.notify_one();
    thread_.join();
}

void EngineThread::run(const std::function<void()>& work, const std::function<bool()>& has_to_stop,
                       const std::function<void()>& abort) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    lock.unlock();
    given_.notify_one();
    lock.lock();
    std::exception_ptr interruption;
    while (!done_.wait_for(lock, watch_interval, [&] { return !work_; })) {
        lock.unlock();
        try {
            if (!interruption) check_interruption();
        } catch (...) {
            interruption = std::current_exception();
        }
        if (interruption || has_to_stop()) abort();
        lock.lock();
    }
    auto error = std::exchange(error_, nullptr);
    if (interruption) std::rethrow_exception(interruption);
    if (error) std::rethrow_exception(error);
}

void EngineThread::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        given_.wait(lock, [&] { return work_ || is_ending_; });
        if (is_ending_) return;
        lock.unlock();
        std::exception_ptr error;
        try {
            (*work_)();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        work_ = nullptr;
        lock.unlock();
        done_.notify_one();
        lock.lock();
    }
}

}  // namespace mge
