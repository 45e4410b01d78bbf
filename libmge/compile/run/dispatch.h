// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that enqueue the work of a program, each for its own places and in the order of the program. A step
// with operands at places of several threads is a meeting: one thread enqueues it after all others have
// arrived, and they continue afterwards.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libmge/compile/run/async_level.h"
#include "libmge/compile/run/worker.h"

namespace mge {

class Dispatch {
public:
    struct Work {
        std::function<void(size_t)> enqueue;  // enqueues a step
        // Called once, by the last thread, after its last step, with the first error or null.
        std::function<void(std::exception_ptr)> finish;
    };
    // The threads of all steps are numbered from 1.
    Dispatch(std::span<const StepThreads> steps, Work work);
    // Starts a run. The previous one must have finished.
    void start();

private:
    struct Meeting {
        int participants = 0;
        std::atomic<int> came{0};
        std::atomic<bool> is_over{false};
    };
    struct Part {
        size_t step = 0;
        Meeting* meeting = nullptr;
        bool is_owner = true;
    };
    void follow(const std::vector<Part>& parts);
    void enqueue(size_t step);
    static void visit(Meeting& meeting);

    Work work_;
    std::vector<std::unique_ptr<Meeting>> meetings_;
    std::vector<std::vector<Part>> lanes_;
    std::atomic<size_t> under_way_{0};
    std::atomic<bool> has_failed_{false};
    std::exception_ptr failure_;
    std::vector<std::unique_ptr<Worker>> workers_;  // last: they end before the data that they use
};

}  // namespace mge
