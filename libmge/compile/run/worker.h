// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "libmge/base/threads/per_process.h"

namespace mge {

// A thread that repeats a task on request. open(), or the first request, creates it; a child of fork()
// creates its own.
class Worker {
public:
    // The task must not throw.
    explicit Worker(std::function<void()> task) : task_(std::move(task)) {}
    // Waits for a running task.
    ~Worker();
    // Creates the thread if there is none. Throws MemoryError if that fails.
    void open();
    // Requests a run of the task, after a running one.
    void start();

private:
    struct State {
        std::thread thread;
        std::mutex mutex;
        std::condition_variable changed;
        bool is_wanted = false, is_closing = false;
    };
    void work(State& state);

    std::function<void()> task_;
    PerProcess<State> state_;
};

}  // namespace mge
