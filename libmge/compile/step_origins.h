// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "libmge/compile/program.h"
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

// What a context runs in when its program is a graph that an operator holds.
struct InnerPlace {
    std::string_view graph;  // the operator's parameter: "body"
    int64_t iteration = -1;  // -1: it runs once in a call
    std::string text() const { return graph_text(graph, iteration); }
};

// "graph 3, conv2d 'conv1'"; inside of an operator, whose text names the graph, "conv2d 'conv1'".
std::string step_text(const Program& program, size_t step, const InnerPlace* place = nullptr);

// Where the work of each step of a context comes from. Queues keep them as long as the work is under way.
// Without somebody who waits for the context its errors are the queues'.
class StepOrigins : public std::enable_shared_from_this<StepOrigins> {
public:
    StepOrigins(std::shared_ptr<const Program> program, bool is_waited_for);
    ~StepOrigins();
    // `place`: what the thread asks for now is a part of what it asked for before.
    std::shared_ptr<const WorkOrigin> of_step(size_t step, const InnerPlace* place = nullptr) const;
    KeptErrors& errors() const { return errors_; }

private:
    class Origin;
    class InnerOrigin;
    std::shared_ptr<const Program> program_;
    bool is_waited_for_;
    std::vector<std::unique_ptr<Origin>> origins_;
    mutable KeptErrors errors_;
};

}  // namespace mge
