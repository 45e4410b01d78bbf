// SPDX-License-Identifier: Apache-2.0
#pragma once
// Half precision by way of f32: a family that offers every f32 algorithm of its operator, called
// "f32:<name>". Constant inputs are widened once, when it is prepared, so that weights are packed from their
// f32 copy; the others in every run, into the workspace, from where results are rounded back.

#include "libmge/kernel/algorithm.h"

namespace mge::cpu {

Support supports_in_f32(const Problem& problem, KernelList list);
std::vector<Candidate> candidates_in_f32(const Problem& problem, KernelList list);
Prepared prepare_in_f32(const PrepareContext& context, KernelList list);
void run_in_f32(const Prepared& prepared, const Launch& launch);

// An entry of kernels(Backend, Op), from which it takes the others.
template <class Backend, class Op>
constexpr Algorithm in_f32() {
    return {"in_f32",
            +[](const Problem& p) { return supports_in_f32(p, kernels(Backend{}, Op{})); },
            +[](const PrepareContext& c) { return prepare_in_f32(c, kernels(Backend{}, Op{})); },
            run_in_f32,
            {},
            +[](const Problem& p) { return candidates_in_f32(p, kernels(Backend{}, Op{})); }};
}

}  // namespace mge::cpu
