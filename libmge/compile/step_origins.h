// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "libmge/compile/compiled_program.h"
#include "libmge/device/work_origin.h"

namespace mge {

// What went wrong in work of one context that nobody was there to catch, until somebody waits for it.
class KeptErrors {
public:
    void keep(std::exception_ptr error);
    // Throws the first and forgets them all.
    void tell() {
        if (has_any_.load(std::memory_order_relaxed)) [[unlikely]]
            tell_first();
    }

private:
    void tell_first();

    std::atomic<bool> has_any_{false};
    std::mutex mutex_;
    std::exception_ptr first_;
};

// "graph 3, conv2d 'conv1'"
std::string step_text(const CompiledProgram& program, size_t step);

// Where the work of each step of a context comes from. Queues keep them as long as the work is under way.
// Without somebody who waits for the context its errors are the queues'.
class StepOrigins : public std::enable_shared_from_this<StepOrigins> {
public:
    StepOrigins(std::shared_ptr<const CompiledProgram> program, bool is_waited_for);
    ~StepOrigins();
    std::shared_ptr<const WorkOrigin> of_step(size_t step) const;
    KeptErrors& errors() const { return errors_; }

private:
    class Origin;
    std::shared_ptr<const CompiledProgram> program_;
    bool is_waited_for_;
    std::vector<std::unique_ptr<Origin>> origins_;
    mutable KeptErrors errors_;
};

}  // namespace mge
