// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one run of an operator has to compute and to move, whatever algorithm does it: the figures that
// achieved FLOP/s and GB/s are made of. The rules are MegEngine's where it has one; a multiply-add counts as
// two operations.

#include <optional>
#include <span>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

struct OpInfo;

struct Footprint {
    std::optional<double> operations;  // none: nobody can tell, or a shape is known only in a run
    std::optional<double> bytes;       // inputs read and outputs written, each once; none: shape not known
};

// `inputs` has a spec of dtype none where an optional input is absent.
MGE_API Footprint footprint(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                            std::span<const TensorSpec> outputs);

// Counts are doubles: shapes of hostile models overflow integers.
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

// What many operators say as their `operations`: so many for each element of input 0, or that comes out.
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
// The values decide.
struct NobodyCanTell {
    std::optional<double> operator()(const auto&, std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const {
        return std::nullopt;
    }
};

}  // namespace mge
