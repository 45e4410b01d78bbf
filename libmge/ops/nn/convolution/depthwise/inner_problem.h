// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// The problem of another operator, by which a kernel solves its own.
template <class Op>
struct InnerProblem : OwnedProblem {
    InnerProblem(const Problem& outer, typename Op::Params with, TensorSpecs in, TensorSpecs out)
        : OwnedProblem(outer), params(std::move(with)), problem(outer) {
        inputs = std::move(in);
        outputs = std::move(out);
        problem.op = Op::name;
        problem.params = &params;
        problem.fields = Op::info.fields;
        problem.inputs = inputs;
        problem.outputs = outputs;
        problem.constant_inputs = 0;
        problem.batch_independence = nullptr;
    }
    InnerProblem(const InnerProblem&) = delete;
    InnerProblem& operator=(const InnerProblem&) = delete;

    typename Op::Params params;
    Problem problem;
};

}  // namespace mge::ops
