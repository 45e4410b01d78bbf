// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an optimisation level below zero adds to a program: a second program of the graph as it was, whose
// outputs are the values that passes compute in another way now. Each run computes it first, and then
// compares each of those values when its step has written it. For the files of this folder only.

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
    // `source` before the passes, `stages` after each of them.
    ReplacementCheck(Graph source, std::vector<PassStage> stages, const CompileOptions& options);

    const std::vector<ReplacedValue>& replaced() const { return replaced_; }
    // Which of them a value of the optimised program is; -1: none.
    int index_of(ValueId id) const { return by_value_[size_t(id)]; }
    // The content of a value of the optimised program as the source has it: plain, its channels in their
    // order.
    Tensor as_in_source(ValueId id, const Tensor& value) const;
    // Has them as its outputs; null when there are none.
    const std::shared_ptr<const Program>& reference() const { return reference_; }
    // Error with code `accuracy` when the tensors differ beyond rounding.
    void compare(int index, const Tensor& got, const Tensor& expected, const Tensors& inputs) const;

private:
    struct Place {
        ValueId value = no_value;  // of the source
        int output = -1;           // of the graph: for one that no node computes any more
    };
    // The value of the source that a value of another stage is; no_value: none.
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
    int threads_;
    double tolerance_;
    std::vector<bool> has_halves_;  // of the source's values
    std::vector<ReplacedValue> replaced_;
    std::vector<Place> places_;  // of replaced_
    std::vector<int> by_value_;  // of the result of all passes
    std::shared_ptr<const Program> reference_;
};

// The check in one context: an observer of its runs.
class CheckedRun final : public StepObserver {
public:
    CheckedRun(const Program& program, const ReplacementCheck& check);

    void before_run(Context& context) override;
    void after_step(size_t step, Context& context) override;
    void after_run(Context& context) override;

private:
    void compare(ValueId id, Context& context) const;

    const ReplacementCheck& check_;
    std::vector<std::vector<ValueId>> by_step_;  // what is compared after each step
    std::vector<ValueId> others_;                // and after the last one
    Tensors inputs_;
    std::unique_ptr<Context> reference_;
};

}  // namespace mge
