// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/strided_copy.h"

#include <algorithm>

namespace mge {

Strides dense_strides(const Shape& shape) {
    Strides strides{};
    int64_t step = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        strides[size_t(i)] = step;
        step *= shape[i];
    }
    return strides;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
    Strides dense = dense_strides(from), strides{};
    int offset = to.rank() - from.rank();
    for (int i = 0; i < from.rank(); ++i)
        strides[size_t(i + offset)] = from[i] == 1 && to[i + offset] != 1 ? 0 : dense[size_t(i)];
    return strides;
}

StridedCopy::StridedCopy(size_t element_size, const Shape& shape, const StridedSide& source,
                         const StridedSide& target)
    : element_size_(element_size), shape_(shape), source_(source), target_(target) {
    if (shape.numel() != 0) simplify();
}

void StridedCopy::simplify() {
    source_offset_ = source_.offset;
    target_offset_ = target_.offset;
    for (int i = 0; i < shape_.rank(); ++i) {
        Axis axis{shape_[i], source_.strides[size_t(i)], target_.strides[size_t(i)]};
        if (axis.extent == 1) continue;
        if (axis.target < 0) {  // walk it the other way round
            source_offset_ += (axis.extent - 1) * axis.source;
            target_offset_ += (axis.extent - 1) * axis.target;
            axis.source = -axis.source;
            axis.target = -axis.target;
        }
        axes_[size_t(rank_++)] = axis;
    }
    std::stable_sort(axes_.begin(), axes_.begin() + rank_,
                     [](const Axis& a, const Axis& b) { return a.target > b.target; });
    int merged = 0;
    for (int i = 1; i < rank_; ++i) {
        Axis &outer = axes_[size_t(merged)], inner = axes_[size_t(i)];
        if (outer.source == inner.source * inner.extent && outer.target == inner.target * inner.extent)
            outer = {outer.extent * inner.extent, inner.source, inner.target};
        else
            axes_[size_t(++merged)] = inner;
    }
    if (rank_ > 0) rank_ = merged + 1;
    if (rank_ == 0) axes_[size_t(rank_++)] = {1, 1, 1};
}

}  // namespace mge
