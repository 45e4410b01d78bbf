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

// Holds asynchronous errors of a context until the next wait().
class KeptErrors {
public:
    void keep(std::exception_ptr error);
    // Throws the first error and clears all.
    void rethrow() {
        if (has_any_.load(std::memory_order_relaxed)) [[unlikely]]
            rethrow_first();
    }

private:
    void rethrow_first();

    std::atomic<bool> has_any_{false};
    std::mutex mutex_;
    std::exception_ptr first_;
};

// The operator that runs a context's program as a nested graph.
struct InnerPlace {
    std::string_view graph;  // the operator's parameter: "body"
    int64_t iteration = -1;  // -1: runs once per call
    std::string text() const { return graph_text(graph, iteration); }
};

// Returns "graph 3, conv2d 'conv1'"; inside of an operator, whose text names the graph, "conv2d 'conv1'".
std::string step_text(const Program& program, size_t step, const InnerPlace* place = nullptr);

// The origins of a context's work by step. Queues hold them while the work is in flight. If no caller waits
// for the context, its errors are left to the queues.
class StepOrigins : public std::enable_shared_from_this<StepOrigins> {
public:
    StepOrigins(std::shared_ptr<const Program> program, bool is_waited_for);
    ~StepOrigins();
    // `place`: the thread's work is part of the work that it enqueued before.
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
