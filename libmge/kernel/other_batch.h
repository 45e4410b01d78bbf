// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems that compute every item of a batch by itself, seen with another batch: how measurements of one
// batch size serve all others, and how a result is made that does not depend on the batch it is in.

#include <optional>
#include <vector>

#include "libmge/kernel/select.h"

namespace mge {

// Which operands have one entry per item along their first axis; all others are shared by the items.
struct BatchOperands {
    int64_t batch = 0;
    bool shares_times = false;  // BatchIndependence
    std::vector<bool> inputs, outputs;
};
// Nullopt when the operator does not state that items are independent, or they are not with these parameters
// (a sum over the first axis, a batch norm that learns). An operand that is constant is shared.
MGE_API std::optional<BatchOperands> batch_operands(const Problem& problem);

// The problem with another batch. Owns the specs.
class MGE_API OtherBatch {
public:
    OtherBatch(const Problem& problem, const BatchOperands& operands, int64_t batch);
    OtherBatch(const OtherBatch&) = delete;
    OtherBatch& operator=(const OtherBatch&) = delete;
    const Problem& problem() const { return problem_; }

private:
    std::vector<TensorSpec> inputs_, outputs_;
    Problem problem_;
};

// A choice for the problem with one item is applied to the whole batch, item by item. Its candidate is called
// "each:<name>".
inline constexpr std::string_view each_item_prefix = "each:";
Choice each_item(Choice one, const Problem& problem, const BatchOperands& operands);

}  // namespace mge
