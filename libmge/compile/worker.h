// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace mge {

// A thread that does the same task whenever it is asked to. It is made by open(), or when it is asked for the
// first time.
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
    void work();

    std::function<void()> task_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_wanted_ = false, is_closing_ = false;
};

}  // namespace mge
