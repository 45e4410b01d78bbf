// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic and data movement of one run of an operator, regardless of the algorithm. Achieved FLOP/s
// and GB/s are computed from it. The rules are MegEngine's where it has one; a multiply-add counts as two
// operations.

#include <optional>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

struct OpInfo;

struct Footprint {
    std::optional<double> operations;  // nullopt: unknown, or a shape is known only at run time
    std::optional<double> bytes;       // inputs and outputs, each once; nullopt: unknown shape
};

// An absent optional input has a spec with DType::none.
MGE_API Footprint footprint(const OpInfo& op, const void* params, Specs inputs, Specs outputs);

// Counts are doubles, because shapes of malicious models overflow integers.
inline double element_count(const TensorSpec& spec) {
    double n = 1;
    for (int64_t extent : spec.shape.dims()) n *= double(extent);
    return n;
}
inline double element_count(Specs specs) {
    double n = 0;
    for (auto& spec : specs) n += element_count(spec);
    return n;
}
inline bool is_given(Specs specs, size_t i) { return i < specs.size() && !specs[i].is_absent(); }

// Common rules for `operations`: a fixed number per element of input 0, or of the outputs.
struct PerInputElement {
    double times = 1;
    double operator()(const auto&, Specs in, Specs) const { return times * element_count(in[0]); }
};
struct PerOutputElement {
    double times = 1;
    double operator()(const auto&, Specs, Specs out) const { return times * element_count(out); }
};
// The count depends on the values.
struct UnknownOperations {
    std::optional<double> operator()(const auto&, Specs, Specs) const { return std::nullopt; }
};

}  // namespace mge
