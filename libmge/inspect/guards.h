// SPDX-License-Identifier: Apache-2.0
#pragma once
// Observers that end a run when a value is not as it should be. The error has the exit code for accuracy and
// names operator, output, element and value.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/rethrow.h"
#include "libmge/compile/run/observer_list.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/inside_values.h"

namespace mge {

struct GuardFinding {
    // Inside an operator with inner graphs the names are paths, "scan#1/body[3]/add#2", and the step belongs
    // to the inner program.
    std::string guard, op, name, algorithm, output;
    size_t step = 0;
    int64_t index = 0;  // flat, of the plain tensor
    Shape shape;
    double value = 0;
    std::string why;  // "is not below 100"
};

class MGE_API GuardError : public Error, public ThrownAsIs {
public:
    explicit GuardError(GuardFinding finding);
    const GuardFinding& finding() const { return finding_; }

private:
    GuardFinding finding_;
};

// Every element of every real-valued tensor has to be finite, and of a magnitude below `range` if that is
// given: results of all steps, and inputs and weights when they are first read.
class MGE_API ValueGuard final : public StepObserver {
public:
    ValueGuard(std::shared_ptr<const Program> program, std::optional<double> range);
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;

private:
    void check(size_t step, ValueId id, Context& context);

    std::shared_ptr<const Program> program_;
    std::optional<double> range_;
    std::vector<std::string> labels_;
    std::vector<bool> was_read_;  // by value: inputs and constants are checked at once
    std::string path_;            // inside of a step
    ObserversInside<ValueGuard> inside_;
};

// Keeps the first run's results. Each later run compares one value with its first result, bit by bit, and
// proceeds to the next value, in the order of the steps, after `interval` runs. Starts with the value of
// index `start`. The result of an operator with inner graphs includes the inner values, for loops those of
// the first iterations.
class MGE_API RepeatGuard final : public StepObserver {
public:
    static constexpr int64_t iterations = 16;

    // UserError if there are fewer than `start` + 1 values.
    RepeatGuard(std::shared_ptr<const Program> program, int interval, size_t start);
    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;
    size_t value_count() const { return values_.size(); }

private:
    // Keeps it in the first run, compares it in later ones.
    void look(Tensor& first, const Tensor& now, GuardFinding finding) const;
    struct Watched {
        size_t step;
        ValueId id;
    };
    std::shared_ptr<const Program> program_;
    size_t interval_, at_;
    size_t runs_ = 0;  // finished ones
    std::vector<std::string> labels_;
    std::vector<Watched> values_;
    Tensors first_;                               // by position in values_
    std::map<std::string, Tensor> first_inside_;  // by path
    InsideValues inside_;
};

// Finds results that their operator did not write completely: their memory is filled with one pattern before
// the step in odd runs, with another in even ones; an element that shows both patterns was not written.
// Excludes results in the memory of an input, and those whose memory is allocated during the run.
class MGE_API WriteGuard final : public StepObserver {
public:
    explicit WriteGuard(std::shared_ptr<const Program> program);
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;

private:
    bool may_fill(size_t step, const Tensor& output, Context& context) const;

    std::shared_ptr<const Program> program_;
    std::vector<std::string> labels_;
    std::vector<bool> is_filled_;                   // by value, of the step at hand
    std::vector<std::vector<int64_t>> suspicious_;  // by value, of the run before
    size_t runs_ = 0;
    std::string path_;  // inside of a step
    ObserversInside<WriteGuard> inside_;
};

}  // namespace mge
