// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/worker.h"

#include "libmge/base/start_thread.h"

namespace mge {

Worker::~Worker() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard lock(mutex_);
        is_closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Worker::open() {
    if (!thread_.joinable()) thread_ = start_thread([this] { work(); });
}

void Worker::start() {
    open();
    std::lock_guard lock(mutex_);
    is_wanted_ = true;
    changed_.notify_all();
}

void Worker::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return is_wanted_ || is_closing_; });
        if (!is_wanted_) return;
        is_wanted_ = false;
        lock.unlock();
        task_();
        lock.lock();
    }
}

}  // namespace mge
