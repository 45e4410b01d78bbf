// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds operators that write where they may only read, and those that still write when they should be done:
// takes a checksum of each value when it is there (an input or a weight when it is first read, a result when
// its step is over) and compares it before and after each step that reads it; not before a step that follows
// the one after which it was looked at. Goes into the graphs that steps hold: of a loop into the first
// iterations, whose operands lie in all the places that later ones use.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/compile/run/inside.h"

namespace mge {

class MGE_API FirstRunCheck final : public StepObserver {
public:
    static constexpr int64_t iterations = 16;

    // `threads` look at large values together.
    explicit FirstRunCheck(const Program& program, int threads = 1);
    void before_run(Context&) override { sums_.clear(); }
    // InternalError that names the value, who made it, and the step that found or changed it.
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;
    // Values looked at, without those inside of steps.
    size_t values() const { return sums_.size(); }

private:
    struct Sum {
        uint64_t sum;
        int writer;  // −1: an input or a weight
        int seen;    // after which step it was last looked at; −1: before all
    };
    bool was_just_seen(ValueId id, size_t step) const;
    std::string describe(size_t step) const;
    std::optional<uint64_t> sum_of(ValueId id, Context& context) const;
    ValueId owner_of(ValueId id) const;
    bool is_overwritten(size_t step, ValueId input) const;
    void expect_unchanged(ValueId id, size_t reader, const char* when, Context& context) const;

    const Program& program_;
    int threads_;
    std::map<ValueId, Sum> sums_;
    std::string path_;  // inside of a step
    ObserversInside<FirstRunCheck> inside_;
};

}  // namespace mge
