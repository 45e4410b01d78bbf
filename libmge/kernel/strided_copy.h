// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data movement on any device.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libmge/base/api.h"
#include "libmge/tensor/shape.h"

namespace mge {

using Strides = std::array<int64_t, max_rank>;  // in elements, one per axis

MGE_API Strides dense_strides(const Shape& shape);
// The strides of a dense tensor of shape `from` seen as the broadcast shape `to`: 0 along repeated axes.
MGE_API Strides broadcast_strides(const Shape& from, const Shape& to);

// One side of a copy: element (i, j, …) is at offset + i * strides[0] + j * strides[1] + … elements.
struct StridedSide {
    int64_t offset = 0;
    Strides strides{};
};

// Copies the elements of an index space between two places: transposing, slicing, flipping, repeating and
// joining are special cases. Source strides may be 0, strides of either side may be negative; no two elements
// may have the same target. The constructor simplifies the index space (drops axes of size one, orders them
// by target, merges neighbours) and so finds the longest runs.
class MGE_API StridedCopy {
public:
    struct Axis {
        int64_t extent, source, target;
    };

    StridedCopy(size_t element_size, const Shape& shape, const StridedSide& source,
                const StridedSide& target);

    size_t element_size() const { return element_size_; }
    int64_t numel() const { return shape_.numel(); }
    // The index space as it was given.
    const Shape& shape() const { return shape_; }
    const StridedSide& source() const { return source_; }
    const StridedSide& target() const { return target_; }
    // The simplified axes: outermost first, target strides above 0. At least one axis, but none for an empty
    // copy.
    std::span<const Axis> axes() const { return {axes_.data(), size_t(rank_)}; }
    int64_t source_offset() const { return source_offset_; }
    int64_t target_offset() const { return target_offset_; }

private:
    void simplify();

    size_t element_size_;
    Shape shape_;
    StridedSide source_, target_;

    std::array<Axis, max_rank> axes_{};
    int rank_ = 0;
    int64_t source_offset_ = 0, target_offset_ = 0;
};

}  // namespace mge
