// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "libmge/base/threads/per_process.h"

namespace mge {

// A thread that does the same task whenever it is asked to. It is made by open(), or when it is asked for the
// first time; in a child made by fork() anew.
class Worker {
public:
    // The task throws nothing.
    explicit Worker(std::function<void()> task) : task_(std::move(task)) {}
    // Waits for the task, if it is under way.
    ~Worker();
    // Makes the thread, if there is none. MemoryError when there is no room for it.
    void open();
    // Once more, after what is under way.
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
    PerProcess<State> state_{[](State*) { return std::make_unique<State>(); }};
};

}  // namespace mge
