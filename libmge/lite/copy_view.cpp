// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/copy_view.h"

#include <cstring>

#include "libmge/device/device.h"
#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/index/slice/slice.h"

namespace lite {
namespace {

using mge::DType;

// Elements are moved, whatever they mean.
DType dtype_of_size(size_t bytes) {
    return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::i32 : DType::i64;
}

mge::Shape shape_of(const TensorView::Extents& extents, size_t rank) {
    std::array<int64_t, Layout::MAXDIM> numbers{};
    for (size_t i = 0; i < rank; ++i) numbers[i] = static_cast<int64_t>(extents[i]);
    return mge::Shape(std::span<const int64_t>(numbers.data(), rank));
}

mge::Shape shape_of(const TensorView& view) {
    TensorView::Extents extents{};
    std::copy_n(view.layout().shapes, view.rank(), extents.begin());
    return shape_of(extents, view.rank());
}

mge::Tensor tensor_at(const mge::Shape& shape, const PlacedView& place) {
    mge::TensorSpec spec{dtype_of_size(place.view.layout().get_elem_size()), shape, {}};
    return {spec, mge::borrow_storage(place.address, spec.bytes(), nullptr), 0, place.place};
}

// The dense tensor that contains the view, from the view's first element. Its end is beyond the end of the
// memory, but that part is not accessed.
mge::Tensor whole_of(const PlacedView& place) {
    return tensor_at(shape_of(place.view.whole(), place.view.rank()), place);
}

mge::ops::Slice::Params places_of(const TensorView& view) {
    mge::ops::Slice::Params params;
    for (size_t i = 0; i < view.rank(); ++i) {
        auto step = static_cast<int64_t>(view.step()[i]);
        auto count = static_cast<int64_t>(view.layout().shapes[i]);
        for (int64_t number : {static_cast<int64_t>(i), int64_t{0}, (count - 1) * step + 1, step, int64_t{0}})
            params.items.push_back(number);
    }
    return params;
}

// An operator of its device's queue, on memory that the caller names.
void launch(const mge::OpInfo& op, const mge::ops::Slice::Params& params, std::span<const mge::Tensor> inputs,
            const mge::Tensor& output) {
    mge::DeviceId device = output.device();
    auto specs = mge::specs_of(inputs);
    auto problem = mge::make_problem(op, &params, specs, {&output.spec(), 1});
    problem.device = problem.output_device = device;
    auto choice = mge::select(mge::find_kernels(op, device), problem, {}, {});
    mge::launch(*choice.algorithm, choice.prepared, {mge::queue_of(device)}, inputs, {&output, 1});
}

// Dense to strided, in the memory of the tensor that the view is a part of.
void scatter(const PlacedView& to, const mge::Tensor& from) {
    mge::Tensor inputs[] = {whole_of(to), from};
    launch(mge::ops::SetSlice::info, places_of(to.view), inputs, inputs[0]);
}

void gather(const mge::Tensor& to, const PlacedView& from) {
    mge::Tensor whole = whole_of(from);
    launch(mge::ops::Slice::info, places_of(from.view), {&whole, 1}, to);
}

bool overlap(const PlacedView& a, const PlacedView& b) {
    return a.place.kind == b.place.kind && a.address < b.address + b.view.span() &&
           b.address < a.address + a.view.span();
}

// New dense memory of the same elements.
mge::Tensor dense_like(const PlacedView& view) {
    return mge::empty_tensor({dtype_of_size(view.view.layout().get_elem_size()), shape_of(view.view), {}},
                             view.place);
}

// The elements as a dense tensor on their device; no copy if they are dense already.
mge::Tensor packed(const PlacedView& from, bool has_to_be_new) {
    if (from.view.is_dense() && !has_to_be_new) return tensor_at(shape_of(from.view), from);
    mge::Tensor dense = dense_like(from);
    gather(dense, from);
    return dense;
}

void copy_on_host(const PlacedView& to, const PlacedView& from) {
    if (to.view.is_dense() && from.view.is_dense()) {
        std::memmove(to.address, from.address, to.view.bytes());
        return;
    }
    mge::Tensor aside;
    if (overlap(to, from)) aside = packed(from, true);
    mge::StridedCopy copy(to.view.layout().get_elem_size(), shape_of(to.view),
                          {0, aside ? mge::dense_strides(aside.shape()) : from.view.strides()},
                          {0, to.view.strides()});
    mge::cpu::CopyLoops(copy).run(aside ? aside.address() : from.address, to.address, 1);
}

}  // namespace

void copy_view(const PlacedView& to, const PlacedView& from) {
    if (to.view.elements() == 0) return;
    bool is_same_place = to.address == from.address && to.place.kind == from.place.kind;
    if (is_same_place && to.view.strides() == from.view.strides()) return;
    if (to.place.is_host() && from.place.is_host()) return copy_on_host(to, from);
    mge::Tensor source = packed(from, overlap(to, from));
    mge::Tensor target = to.view.is_dense() ? tensor_at(shape_of(to.view), to) : dense_like(to);
    mge::copy_between(to.place, target.address(), from.place, source.address(), to.view.bytes());
    if (!to.view.is_dense()) scatter(to, target);
    mge::queue_of(to.place).wait();
    mge::queue_of(from.place).wait();
}

void fill_view_with_zeros(const PlacedView& to) {
    if (to.view.elements() == 0) return;
    auto& queue = mge::queue_of(to.place);
    if (to.view.is_dense()) {
        queue.fill(to.address, 0, to.view.bytes());
    } else {
        mge::Tensor zeros = dense_like(to);
        queue.fill(zeros.address(), 0, to.view.bytes());
        scatter(to, zeros);
    }
    queue.wait();
}

}  // namespace lite
