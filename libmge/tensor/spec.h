// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <span>
#include <vector>

#include "libmge/tensor/dtype.h"
#include "libmge/tensor/layout.h"
#include "libmge/tensor/shape.h"

namespace mge {

// The spec of a tensor, known before it has memory. dtype none: an absent optional input.
struct TensorSpec {
    DType dtype = DType::none;
    Shape shape;
    Layout layout;  // plain everywhere but inside compiled programs

    bool is_absent() const { return dtype == DType::none; }
    int64_t numel() const { return shape.numel(); }
    size_t bytes() const {
        return layout.is_plain() ? size_t(shape.numel()) * size_of(dtype) : layout.bytes(shape, dtype);
    }
    bool operator==(const TensorSpec& other) const {
        return dtype == other.dtype && shape == other.shape && layout == other.layout;
    }
};
using TensorSpecs = std::vector<TensorSpec>;
using Specs = std::span<const TensorSpec>;  // inputs or outputs of an application

inline std::ostream& operator<<(std::ostream& stream, const TensorSpec& spec) {
    stream << spec.dtype << spec.shape;
    if (!spec.layout.is_plain()) stream << ':' << spec.layout;
    return stream;
}

}  // namespace mge
