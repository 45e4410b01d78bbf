// SPDX-License-Identifier: Apache-2.0
#pragma once
// Families that offer the algorithms of an operator for operands of another dtype, with conversions around
// them. Constant inputs are converted once, when an algorithm is prepared, so that weights are packed from
// that copy; the others in every run, into the workspace, from where results are converted back.
//
// - "f32:<name>": half precision by way of f32.
// - "bf16:<name>": the two factors of an f32 product rounded to bf16, sums and everything else in f32. Only
//   if the requested precision allows it.

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/algorithm.h"

namespace mge::cpu {

// The changes that a family makes to its problem.
struct OtherDType {
    std::string_view prefix;
    // The dtype inside of an operand that is `outside`; `is_factor`: the first two inputs.
    DType (*inside)(DType outside, bool is_factor);
};

Support supports_in(const OtherDType& way, const Problem& problem, KernelList list);
std::vector<Candidate> candidates_in(const OtherDType& way, const Problem& problem, KernelList list);
Prepared prepare_in(const OtherDType& way, const PrepareContext& context, KernelList list);
void run_in_other_dtype(const Prepared& prepared, const Launch& launch);

MGE_API extern const OtherDType in_wide, in_rounded;

// An entry of kernels(Backend, Op), from which it takes the others.
template <class Backend, class Op>
constexpr Algorithm in_f32() {
    return {"in_f32",
            +[](const Problem& p) { return supports_in(in_wide, p, kernels(Backend{}, Op{})); },
            +[](const PrepareContext& c) { return prepare_in(in_wide, c, kernels(Backend{}, Op{})); },
            run_in_other_dtype,
            {},
            +[](const Problem& p) { return candidates_in(in_wide, p, kernels(Backend{}, Op{})); }};
}

// The unit that computes bf16 products: tile units, many times as fast as f32 vectors, or vectors, at half or
// twice that speed, which only a measurement can decide.
enum class Bf16Unit : uint8_t { tiles, vectors };
Support allows_bf16(const Problem& problem, Bf16Unit unit);
// Without candidates that gain nothing from the unit: depthwise convolutions always use vectors.
std::vector<Candidate> with_unit(std::vector<Candidate> candidates, Bf16Unit unit);

// `list`: algorithms that multiply bf16 into f32.
template <KernelList (*list)(), Bf16Unit unit>
constexpr Algorithm in_bf16() {
    return {"in_bf16",
            +[](const Problem& p) {
                if (Support allowed = allows_bf16(p, unit); !allowed) return allowed;
                if (Support inside = supports_in(in_rounded, p, list()); !inside) return inside;
                return with_unit(candidates_in(in_rounded, p, list()), unit).empty()
                           ? Support{"no algorithm multiplies it in tiles"}
                           : supported;
            },
            +[](const PrepareContext& c) { return prepare_in(in_rounded, c, list()); },
            run_in_other_dtype,
            {},
            +[](const Problem& p) { return with_unit(candidates_in(in_rounded, p, list()), unit); }};
}

}  // namespace mge::cpu
