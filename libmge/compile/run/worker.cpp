// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/worker.h"

#include "libmge/base/threads/start_thread.h"

namespace mge {

Worker::~Worker() {
    State& state = state_.get();
    if (!state.thread.joinable()) return;
    {
        std::lock_guard lock(state.mutex);
        state.is_closing = true;
    }
    state.changed.notify_all();
    state.thread.join();
}

void Worker::open() {
    State& state = state_.get();
    if (!state.thread.joinable()) state.thread = start_thread([this, &state] { work(state); });
}

void Worker::start() {
    open();
    State& state = state_.get();
    std::lock_guard lock(state.mutex);
    state.is_wanted = true;
    state.changed.notify_all();
}

void Worker::work(State& state) {
    std::unique_lock lock(state.mutex);
    while (true) {
        state.changed.wait(lock, [&] { return state.is_wanted || state.is_closing; });
        if (!state.is_wanted) return;
        state.is_wanted = false;
        lock.unlock();
        task_();
        lock.lock();
    }
}

}  // namespace mge
