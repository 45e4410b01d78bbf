// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/engine_thread.h"

#include <chrono>
#include <utility>

#include "libmge/base/socket.h"

namespace mge {
namespace {

constexpr std::chrono::milliseconds interruption_interval(100);

}  // namespace

EngineThread::EngineThread() : thread_([this] { loop(); }) {}

EngineThread::~EngineThread() {
    {
        std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void EngineThread::run(std::function<void()> work, const std::function<void()>& abort) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
    auto is_done = [&] { return !work_; };
    while (!changed_.wait_for(lock, interruption_interval, is_done)) {
        lock.unlock();
        try {
            check_interruption();
        } catch (...) {
            abort();
            lock.lock();
            changed_.wait(lock, is_done);
            error_ = nullptr;
            throw;
        }
        lock.lock();
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void EngineThread::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return work_ || is_ending_; });
        if (is_ending_) return;
        lock.unlock();
        std::exception_ptr error;
        try {
            work_();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        work_ = nullptr;
        changed_.notify_all();
    }
}

}  // namespace mge
