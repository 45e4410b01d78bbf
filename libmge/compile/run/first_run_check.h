// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detects operators that write to their inputs, or that still write after they should be done. It takes a
// checksum of each value when it is available: of an input or weight at its first read, of a result after its
// step. It compares the checksum before and after each step that reads the value, except directly after a
// comparison. It also checks nested graphs; of a loop only the first iterations, whose operands use all
// memory that later ones use.

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

    // `threads` threads process large values.
    explicit FirstRunCheck(const Program& program, int threads = 1);
    void before_run(Context&) override { sums_.clear(); }
    // Throws InternalError with the value, its producer, and the step that found or made the change.
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;
    // The number of values checked, without nested ones.
    size_t values() const { return sums_.size(); }

private:
    struct Sum {
        uint64_t sum;
        int writer;  // −1: an input or a weight
        int seen;    // the step after which it was last checked; −1: before all
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
    std::string path_;  // path of the enclosing step
    ObserversInside<FirstRunCheck> inside_;
};

}  // namespace mge
