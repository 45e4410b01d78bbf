// SPDX-License-Identifier: Apache-2.0
#pragma once
// The check of optimisation levels below zero: a second program of the original graph, whose outputs are the
// values that passes compute in another way. Each run computes it first, then compares each of these values
// after its step. For this folder only.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/passes/pass.h"

namespace mge {

class ReplacementCheck {
public:
    // `source` is the graph before the passes, `stages` that after each of them.
    ReplacementCheck(Graph source, std::vector<PassStage> stages, const CompileOptions& options);

    const std::vector<ReplacedValue>& replaced() const { return replaced_; }
    // Returns the index of a value of the optimised program in replaced(); -1: not replaced.
    int index_of(ValueId id) const { return by_value_[size_t(id)]; }
    // Returns a value of the optimised program in the form of the source: plain, with channels in source
    // order.
    Tensor as_in_source(ValueId id, const Tensor& value) const;
    // The program that outputs the values; null if there are none.
    const std::shared_ptr<const Program>& reference() const { return reference_; }
    // Throws Error with code `accuracy` if the tensors differ beyond rounding.
    void compare(int index, const Tensor& got, const Tensor& expected, const Tensors& inputs) const;

private:
    struct Place {
        ValueId value = no_value;  // in the source
        int output = -1;           // graph output, if no node computes the value any more
    };
    // Returns the source's value for a value of another stage; no_value: none.
    ValueId source_of(const Graph& graph, ValueId id) const;
    // By value of the source.
    std::map<ValueId, std::string> descriptions(const Graph& graph) const;
    void note_values(const std::map<ValueId, std::vector<std::string>>& passes);
    void note_outputs();
    double tolerance(int index) const;
    int add(const Place& place, std::vector<std::string> passes);
    void make_reference();
    const Graph& result() const { return stages_.empty() ? source_ : stages_.back().graph; }
    ValueId find(const Graph& graph, const Place& place) const;
    std::string responsible(int index, const Tensor& expected, const Tensors& inputs) const;

    Graph source_;
    std::map<ValueOrigin, ValueId> by_origin_;  // values of the source
    std::vector<PassStage> stages_;
    std::string level_name_;  // names the option that asks for the check
    int threads_;
    double tolerance_;
    std::vector<bool> has_halves_;  // by value of the source
    std::vector<ReplacedValue> replaced_;
    std::vector<Place> places_;  // parallel to replaced_
    std::vector<int> by_value_;  // by value of the result of all passes
    std::shared_ptr<const Program> reference_;
};

// The check in one context, as an observer of its runs.
class CheckedRun final : public StepObserver {
public:
    CheckedRun(const Program& program, const ReplacementCheck& check);

    void before_run(Context& context) override;
    void after_step(size_t step, Context& context) override;
    void after_run(Context& context) override;

private:
    void compare(ValueId id, Context& context) const;

    const ReplacementCheck& check_;
    std::vector<std::vector<ValueId>> by_step_;  // values to compare after each step
    std::vector<ValueId> others_;                // values to compare after the last one
    Tensors inputs_;
    std::unique_ptr<Context> reference_;
};

}  // namespace mge
