// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems of random sizes, and every algorithm for one.
#include <random>
#include <string_view>
#include <vector>

#include "libmge/kernel/select.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "tests/harness/nightly.h"
#include "tests/harness/random_tensor.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {

// Numbers of random problems.
inline int random_cases() { return is_nightly() ? 3000 : 60; }

class Choice {
public:
    explicit Choice(int seed) : random_(unsigned(seed)) {}
    int64_t between(int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(random_);
    }
    template <class T>
    T of(const std::vector<T>& values) {
        return values[size_t(between(0, int64_t(values.size()) - 1))];
    }
    bool flip() { return between(0, 1); }

private:
    std::mt19937 random_;
};

// Numbers whose products are exact in bf16, unless the precision is strict.
inline Tensor random_factors(const Shape& shape, DType dtype, Precision precision) {
    Tensor x = random_tensor(shape, precision == Precision::strict ? dtype : DType::bf16);
    return ops::convert(x, {.dtype = dtype});
}

// Absent ones are those of absent inputs.
inline TensorSpecs specs_of(const Tensors& tensors) {
    TensorSpecs specs;
    for (auto& t : tensors) specs.push_back(t ? t.spec() : TensorSpec{});
    return specs;
}

// Calls check(results, problem and algorithm as a text) for each algorithm.
template <class Check>
void for_each_algorithm(const OpInfo& op, const Problem& problem, const Tensors& inputs, const Check& check) {
    for (auto& named : list_candidates(find_kernels(op, default_device()), problem))
        check(run_candidate(named, problem, inputs), text(problem.key(), " by ", named.candidate.name));
}

// With plain inputs; an eager operator may be the tested one.
template <class Op>
Tensors by_reference(const typename Op::Params& params, const Tensors& inputs) {
    TensorSpecs specs = specs_of(inputs), outputs = Op::infer(params, specs);
    Problem problem{Op::name, &params, Op::info.fields, specs, outputs};
    return run_candidate(list_candidates(find_kernels(Op::info, default_device()), problem).back(), problem,
                         inputs);
}

}  // namespace mge::test
