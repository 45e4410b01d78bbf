// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads that ask several queues for the work of a program, each for that of its own places. Within a
// place the order is that of the program. A step whose operands lie at places of several threads is a
// meeting: one of them asks for it when all others have come, and those go on when that is done.

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
        std::function<void(size_t)> ask;  // for a step
        // The last one has asked for its last step; with the first error, if there was one.
        std::function<void(std::exception_ptr)> finish;
    };
    // The threads of all steps are counted from 1 on.
    Dispatch(std::span<const StepThreads> steps, Work work);
    // One run, after the one before has finished.
    void start();

private:
    struct Meeting {
        int guests = 0;
        std::atomic<int> came{0};
        std::atomic<bool> is_over{false};
    };
    struct Part {
        size_t step = 0;
        Meeting* meeting = nullptr;
        bool is_owner = true;
    };
    void follow(const std::vector<Part>& parts);
    void ask(size_t step);
    static void visit(Meeting& meeting);

    Work work_;
    std::vector<std::unique_ptr<Meeting>> meetings_;
    std::vector<std::vector<Part>> lanes_;
    std::atomic<size_t> under_way_{0};
    std::atomic<bool> has_failed_{false};
    std::exception_ptr failure_;
    std::vector<std::unique_ptr<Worker>> workers_;  // last: they end before what they work on
};

}  // namespace mge
