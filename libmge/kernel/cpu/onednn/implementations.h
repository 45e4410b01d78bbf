// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/onednn/engine.h"

namespace mge::onednn {

// One way oneDNN knows to compute an operation.
struct Implementation {
    std::string name;  // its impl_info_str: "jit_wino_4x3:avx512_core"
    PrimitiveDesc desc;
};

// Its impl_info_str, which lives as long as the library.
const char* implementation_name(const_dnnl_primitive_desc_t desc);

using IsWanted = std::function<bool(const Implementation&)>;

// All of them in oneDNN's order, without its references and without those for older instruction sets where a
// newer one is listed; up to the first that is wanted, when somebody says so. `operation` is one of the
// dnnl_*_desc_t structs; an operation that oneDNN does not have gives an empty list.
std::vector<Implementation> implementations(const_dnnl_op_desc_t operation, const PrimitiveAttr& attr,
                                            const_dnnl_primitive_desc_t hint = nullptr,
                                            const IsWanted& is_wanted = {});

// Scratchpad from the caller; post-operations: first add what the destination holds, then the activation.
PrimitiveAttr attributes(bool sum_destination, Activation activation);

// Whether sums of products in this dtype are worth asking for. Without instructions for it oneDNN emulates
// bf16, two to three times slower than f32 with conversions around it.
bool computes_in(DType dtype);
// Of an operator whose first two inputs are multiplied and whose others are added to the products: one dtype
// for all operands, or bf16 factors and f32 for the rest.
Support has_dtypes_of_product(const Problem& problem);
inline constexpr auto not_computed = "f32, and bf16 where the instruction set has it";

// Those based on oneDNN's general matrix product take locks while they run. How it cuts the sums of an
// element depends on all extents, the number of rows and so the batch among them.
inline bool is_general_product(const std::string& name) { return name.find("gemm:") != std::string::npos; }
inline Attributes attributes_of(const std::string& name) {
    return {.accuracy_depends_on_batch = is_general_product(name), .locks = is_general_product(name)};
}

// The members of a family whose implementations were given the names of candidates. General products go last.
std::vector<Candidate> candidates_of(const std::vector<Implementation>& list);
// The one of that name; InternalError when there is none.
PrimitiveDesc take_way(std::vector<Implementation> list, const std::string& name);

}  // namespace mge::onednn
