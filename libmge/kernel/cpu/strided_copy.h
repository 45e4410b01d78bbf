// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "libmge/tensor/shape.h"

namespace mge {

using Strides = std::array<int64_t, max_rank>;  // in elements, one per axis

Strides dense_strides(const Shape& shape);
// The strides of a dense tensor of shape `from` seen as the broadcast shape `to`: 0 along repeated axes.
Strides broadcast_strides(const Shape& from, const Shape& to);

// One side of a copy: element (i, j, …) lies at offset + i * strides[0] + j * strides[1] + … elements.
struct StridedSide {
    int64_t offset = 0;
    Strides strides{};
};

// Copies the elements of an index space from one place to another; transposing, slicing, flipping, repeating
// and joining are all this. Source strides may be 0, strides of either side may be negative; no two elements
// may have the same target. The constructor simplifies the index space (drops axes of extent one, orders them
// by target, merges neighbours) and so finds the longest runs.
class StridedCopy {
public:
    StridedCopy(size_t element_size, const Shape& shape, const StridedSide& source,
                const StridedSide& target);
    void run(const void* source, void* target, int threads) const;
    // Element by element in the order of the index space as given: the meaning of run().
    void run_naive(const void* source, void* target) const;
    int64_t numel() const { return shape_.numel(); }

private:
    struct Axis {
        int64_t extent, source, target;
    };
    enum class Method : uint8_t { nothing, runs, fill, strided, tiles };

    void simplify();
    void prefer_long_axis();
    void choose_method();
    template <class T>
    void run_as(const T* source, T* target, int threads) const;

    size_t element_size_;
    Shape shape_;
    StridedSide source_, target_;

    std::array<Axis, max_rank> axes_{};  // outermost first
    int rank_ = 0;
    int64_t source_offset_ = 0, target_offset_ = 0;
    Method method_ = Method::nothing;
};

}  // namespace mge
