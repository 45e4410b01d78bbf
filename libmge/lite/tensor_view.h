// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <span>

#include "libmge/kernel/strided_copy.h"
#include "lite/tensor.h"

namespace lite {

// The elements of a tensor in memory: those of a dense tensor of shape `whole` at every `step`-th position of
// each axis, from a base address stored elsewhere. A slice of a slice is a view, too.
class TensorView {
public:
    using Extents = std::array<size_t, Layout::MAXDIM>;
    using Numbers = std::span<const size_t>;

    // Dense; Error for a layout that no tensor can have.
    explicit TensorView(const Layout& layout = {});

    const Layout& layout() const { return layout_; }
    const Extents& whole() const { return whole_; }
    const Extents& step() const { return step_; }
    size_t rank() const { return layout_.ndim; }
    size_t elements() const;
    size_t bytes() const { return elements() * layout_.get_elem_size(); }
    // From the start of the first element to the end of the last.
    size_t span() const;
    bool is_dense() const;
    mge::Strides strides() const;  // in elements
    // Bytes from the first element to that at `index`, which may leave the last axes out.
    size_t offset_of(Numbers index) const;

    struct Part;
    // Tensor::slice(); `step` may be empty.
    Part part(Numbers start, Numbers end, Numbers step) const;
    // Tensor::reshape().
    TensorView reshaped(std::span<const int> shape) const;

private:
    Layout layout_{};
    Extents whole_{}, step_{};
};

struct TensorView::Part {
    TensorView view;
    size_t offset = 0;  // bytes to its first element
};

}  // namespace lite
