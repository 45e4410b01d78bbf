// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/tensor_view.h"

#include <algorithm>
#include <optional>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/base/text.h"
#include "libmge/lite/layout.h"

namespace lite {
namespace {

// Error unless the sizes of the layout fit in 63 bits in whatever order they are multiplied.
void check(const Layout& layout) {
    if (layout.ndim > Layout::MAXDIM)
        throw Error(mge::text("a layout has ", mge::counted(layout.ndim, "dimension"), "; there are ",
                              Layout::MAXDIM, " at most"));
    size_t bytes = layout.get_elem_size();
    for (size_t extent : std::span(layout.shapes, layout.ndim))
        if (__builtin_mul_overflow(bytes, std::max<size_t>(extent, 1), &bytes) || bytes > INT64_MAX)
            throw Error(
                mge::text("a tensor of ", text_of(layout), " has more bytes than the address space holds"));
}

void check_axis(size_t axis, size_t start, size_t end, size_t step, size_t extent) {
    auto who = [&] {
        return mge::text("slice of dimension ", axis, " from ", start, " to ", end, " in steps of ", step,
                         ": ");
    };
    if (step == 0) throw Error(mge::text(who(), "steps are 1 or more"));
    if (start > end) throw Error(mge::text(who(), "the start is after the end"));
    if (end > extent) throw Error(mge::text(who(), "the dimension has ", mge::counted(extent, "element")));
}

// The index of the -1 in a shape.
std::optional<size_t> find_rest(std::span<const int> shape) {
    std::optional<size_t> rest;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] >= 0) continue;
        if (shape[i] != -1)
            throw Error(mge::text("reshape: dimension ", i, " is ", shape[i], "; only -1 may be negative"));
        if (rest) throw Error(mge::text("reshape: dimensions ", *rest, " and ", i, " are both -1"));
        rest = i;
    }
    return rest;
}

}  // namespace

TensorView::TensorView(const Layout& layout) : layout_{{}, layout.ndim, layout.data_type} {
    check(layout);
    std::copy_n(layout.shapes, layout.ndim, layout_.shapes);
    std::copy_n(layout.shapes, layout.ndim, whole_.begin());
    std::fill_n(step_.begin(), layout.ndim, 1);
}

size_t TensorView::elements() const {
    if (rank() == 0) return 0;
    size_t count = 1;
    for (size_t extent : std::span(layout_.shapes, rank())) count *= extent;
    return count;
}

size_t TensorView::span() const {
    if (elements() == 0) return 0;
    auto stride = strides();
    size_t last = 0;
    for (size_t i = 0; i < rank(); ++i) last += (layout_.shapes[i] - 1) * static_cast<size_t>(stride[i]);
    return (last + 1) * layout_.get_elem_size();
}

bool TensorView::is_dense() const { return span() == bytes(); }

mge::Strides TensorView::strides() const {
    mge::Strides result{};
    size_t dense = 1;
    for (size_t i = rank(); i-- > 0; dense *= whole_[i]) result[i] = static_cast<int64_t>(dense * step_[i]);
    return result;
}

size_t TensorView::offset_of(Numbers index) const {
    if (index.size() > rank())
        throw Error(mge::text("an index of ", mge::counted(index.size(), "number"), " into a tensor of ",
                              text_of(layout_)));
    auto stride = strides();
    size_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) {
        if (index[i] >= layout_.shapes[i])
            throw Error(
                mge::text("index ", index[i], " of dimension ", i, " of a tensor of ", text_of(layout_)));
        offset += index[i] * static_cast<size_t>(stride[i]);
    }
    return offset * layout_.get_elem_size();
}

TensorView::Part TensorView::part(Numbers start, Numbers end, Numbers step) const {
    if (start.size() != end.size() || (!step.empty() && step.size() != start.size()))
        throw Error(mge::text("slice: start, end and step have ", start.size(), ", ", end.size(), " and ",
                              step.size(), " numbers; all must have the same number, step may be empty"));
    if (start.size() > rank())
        throw Error(mge::text("slice: ", mge::counted(start.size(), "number"), " for a tensor of ",
                              text_of(layout_)));
    Part part{*this};
    auto stride = strides();
    size_t offset = 0;
    for (size_t i = 0; i < start.size(); ++i) {
        size_t by = step.empty() ? 1 : step[i];
        check_axis(i, start[i], end[i], by, layout_.shapes[i]);
        size_t length = end[i] - start[i];
        // A single element needs no steps of any length.
        if (by >= length) by = std::max<size_t>(length, 1);
        part.view.layout_.shapes[i] = mge::ceil_div(length, by);
        part.view.step_[i] *= by;
        offset += start[i] * static_cast<size_t>(stride[i]);
    }
    part.offset = offset * layout_.get_elem_size();
    return part;
}

TensorView TensorView::reshaped(std::span<const int> shape) const {
    if (rank() == 0) throw Error("reshape: the tensor has no layout");
    if (!is_dense()) throw Error("reshape: the tensor is a slice with gaps; copy it to another one first");
    if (shape.empty() || shape.size() > Layout::MAXDIM)
        throw Error(mge::text("reshape to ", shape.size(), " dimensions; allowed are 1 to ", Layout::MAXDIM));
    auto rest = find_rest(shape);
    Layout layout{{}, shape.size(), layout_.data_type};
    size_t count = 1;
    bool is_too_large = false;
    for (size_t i = 0; i < shape.size(); ++i) {
        layout.shapes[i] = rest == i ? 1 : static_cast<size_t>(shape[i]);
        is_too_large |= __builtin_mul_overflow(count, layout.shapes[i], &count);
    }
    bool fits = !is_too_large && (rest ? count && elements() % count == 0 : count == elements());
    if (rest && fits) layout.shapes[*rest] = elements() / count;
    if (!fits)
        throw Error(mge::text("reshape: a tensor of ", text_of(layout_), " has ", elements(),
                              " elements, which do not fill ", text_of(layout),
                              rest ? " times another size" : ""));
    return TensorView(layout);
}

}  // namespace lite
