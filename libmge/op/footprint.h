// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic and data movement of one run of an operator, regardless of the algorithm. Achieved FLOP/s
// and GB/s are computed from it. The rules are MegEngine's where it has one; a multiply-add counts as two
// operations.

#include <optional>
#include <span>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

struct OpInfo;

struct Footprint {
    std::optional<double> operations;  // nullopt: unknown, or a shape is known only at run time
    std::optional<double> bytes;       // inputs and outputs, each once; nullopt: unknown shape
};

// An absent optional input has a spec with DType::none.
MGE_API Footprint footprint(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                            std::span<const TensorSpec> outputs);

// Counts are doubles, because shapes of malicious models overflow integers.
inline double element_count(const TensorSpec& spec) {
    double n = 1;
    for (int64_t extent : spec.shape.dims()) n *= double(extent);
    return n;
}
inline double element_count(std::span<const TensorSpec> specs) {
    double n = 0;
    for (auto& spec : specs) n += element_count(spec);
    return n;
}
inline bool is_given(std::span<const TensorSpec> specs, size_t i) {
    return i < specs.size() && !specs[i].is_absent();
}

// Common rules for `operations`: a fixed number per element of input 0, or of the outputs.
struct PerInputElement {
    double times = 1;
    double operator()(const auto&, std::span<const TensorSpec> in, std::span<const TensorSpec>) const {
        return times * element_count(in[0]);
    }
};
struct PerOutputElement {
    double times = 1;
    double operator()(const auto&, std::span<const TensorSpec>, std::span<const TensorSpec> out) const {
        return times * element_count(out);
    }
};
// The count depends on the values.
struct UnknownOperations {
    std::optional<double> operator()(const auto&, std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const {
        return std::nullopt;
    }
};

}  // namespace mge
