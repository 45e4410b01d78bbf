// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/kernel/cpu/onednn/operation.h"

namespace mge::onednn {

// One oneDNN implementation of an operation.
struct Implementation {
    std::string name;  // its impl_info_str: "jit_wino_4x3:avx512_core"
    PrimitiveDesc desc;
};

// Its impl_info_str, which lives as long as the library.
const char* implementation_name(const_dnnl_primitive_desc_t desc);

using IsWanted = std::function<bool(const Implementation&)>;

// All implementations in oneDNN's order, without its references and without those for older instruction sets
// if a newer one is listed; up to the first wanted one, if given. An operation that oneDNN does not support
// gives an empty list.
std::vector<Implementation> implementations(const Operation& operation, const PrimitiveAttr& attr,
                                            const IsWanted& is_wanted = {});

// Scratchpad from the caller; post-operations: first add the values of the destination, then the activation.
PrimitiveAttr attributes(bool sum_destination, Activation activation);

// All of a normalisation, with the layout of its images in their names.
std::vector<Implementation> normalisations(const Operation& operation, const MemoryDesc& images);

// Whether sums of products in this dtype are worth asking for. Without instructions for it oneDNN emulates
// bf16, two to three times slower than f32 with conversions around it.
bool computes_in(DType dtype);
// For an operator that multiplies its first two inputs and adds the others: one dtype for all operands, or
// bf16 factors and f32 for the rest.
Support has_dtypes_of_product(const Problem& problem);
inline constexpr auto not_computed = "f32, and bf16 where the instruction set has it";

// Implementations based on oneDNN's general matrix product take locks while they run. Their division of an
// element's sum depends on all sizes, including the number of rows and so the batch.
inline bool is_general_product(const std::string& name) { return name.find("gemm:") != std::string::npos; }
inline Attributes attributes_of(const std::string& name) {
    return {.accuracy_depends_on_batch = is_general_product(name), .locks = is_general_product(name)};
}

// The members of a family, named after the implementations. General products are last.
std::vector<Candidate> candidates_of(const std::vector<Implementation>& list);
template <std::vector<Implementation> (*ways)(const Problem&)>
std::vector<Candidate> candidates(const Problem& problem) {
    ThreadScope scope(problem.threads);
    return candidates_of(ways(problem));
}
// The implementation of that name; InternalError if there is none.
PrimitiveDesc take_way(std::vector<Implementation> list, const std::string& name);

}  // namespace mge::onednn
