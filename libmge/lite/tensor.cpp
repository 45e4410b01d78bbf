// SPDX-License-Identifier: Apache-2.0
#include "lite/tensor.h"

#include "libmge/base/number_text.h"
#include "libmge/base/text.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/device.h"
#include "libmge/lite/layout.h"
#include "libmge/lite/tensor_impl.h"

namespace lite {
namespace {

const Layout& layout_in(const Tensor& tensor) { return TensorHelper::impl(tensor).layout(); }

// The layout of the tensors behind each other.
Layout layout_of_all(const std::vector<Tensor>& tensors, size_t axis) {
    Layout result = layout_in(tensors.front());
    result.shapes[axis] = 0;
    for (auto& tensor : tensors) {
        Layout expected = layout_in(tensors.front());
        if (layout_in(tensor).ndim == expected.ndim) expected.shapes[axis] = layout_in(tensor).shapes[axis];
        if (!(layout_in(tensor) == expected))
            throw Error(mge::text("concat along dimension ", axis, ": tensors of ",
                                  text_of(layout_in(tensor)), " and of ",
                                  text_of(layout_in(tensors.front()))));
        result.shapes[axis] += expected.shapes[axis];
    }
    return result;
}

size_t axis_of(int dim, size_t rank) {
    auto signed_rank = static_cast<int>(rank);
    if (dim < -signed_rank || dim >= signed_rank)
        throw Error(
            mge::text("concat: dimension ", dim, " of tensors with ", mge::counted(rank, "dimension")));
    return static_cast<size_t>(dim < 0 ? dim + signed_rank : dim);
}

}  // namespace

Tensor::Tensor() : Tensor(LITE_CPU) {}
Tensor::Tensor(LiteDeviceType device_type, bool is_pinned_host) : Tensor(0, 0, device_type, is_pinned_host) {}
Tensor::Tensor(LiteDeviceType device_type, const Layout& layout, bool is_pinned_host)
    : Tensor(0, device_type, layout, is_pinned_host) {}
Tensor::Tensor(LiteBackend backend, LiteDeviceType device_type, int device_id, const Layout& layout,
               bool is_pinned_host)
    : Tensor(device_id, device_type, layout, is_pinned_host) {
    require_backend(backend);
}
Tensor::Tensor(int device_id, LiteDeviceType device_type, const Layout& layout, bool is_pinned_host)
    : Tensor(device_id, 0, device_type, is_pinned_host) {
    set_layout(layout);
}
Tensor::Tensor(int device_id, int stream_id, LiteDeviceType device_type, bool is_pinned_host)
    : is_pinned_host_(is_pinned_host) {
    auto device = device_of(device_type, device_id, stream_id);
    device_id_ = device.index;
    device_type_ = device_type_of(device);
    tensor_impl_ = as_lite_error([&] { return std::make_shared<TensorImplBase>(device, is_pinned_host); });
}
Tensor::~Tensor() = default;

void* Tensor::get_memory_ptr() const {
    return as_lite_error([&] { return static_cast<void*>(tensor_impl_->address()); });
}

void* Tensor::get_memory_ptr(const std::vector<size_t>& index) const {
    return as_lite_error([&] {
        auto* first = tensor_impl_->address();
        return static_cast<void*>(first + tensor_impl_->view().offset_of(index));
    });
}

size_t Tensor::get_tensor_total_size_in_byte() const { return tensor_impl_->view().bytes(); }

bool Tensor::is_continue_memory() const { return tensor_impl_->view().is_dense(); }

void Tensor::set_layout(const Layout& layout) {
    as_lite_error([&] { tensor_impl_->set_layout(layout); });
    layout_ = tensor_impl_->layout();
}

void Tensor::reset(void* prepared_data, size_t data_length_in_byte) {
    as_lite_error([&] { tensor_impl_->reset(prepared_data, data_length_in_byte); });
}

void Tensor::reset(void* prepared_data, const Layout& layout) {
    set_layout(layout);
    reset(prepared_data, get_tensor_total_size_in_byte());
}

void Tensor::reshape(const std::vector<int>& shape) {
    as_lite_error([&] { tensor_impl_->reshape(shape); });
    layout_ = tensor_impl_->layout();
}

std::shared_ptr<Tensor> Tensor::slice(const std::vector<size_t>& start, const std::vector<size_t>& end,
                                      const std::vector<size_t>& step) {
    return as_lite_error([&] {
        auto part = std::make_shared<TensorImplBase>();
        part->share_part(*tensor_impl_, start, end, step);
        return TensorHelper::make(std::move(part));
    });
}

void Tensor::fill_zero() {
    as_lite_error([&] { tensor_impl_->fill_zero(); });
}

void Tensor::copy_from(const Tensor& src) {
    as_lite_error([&] { tensor_impl_->copy_from(*src.tensor_impl_); });
    update_from_implement();
}

void Tensor::share_memory_with(const Tensor& src) {
    if (tensor_impl_->is_on_host() != src.tensor_impl_->is_on_host())
        throw Error(
            "share_memory_with: only one of the tensors is on the host; "
            "copy_from() copies");
    as_lite_error([&] { tensor_impl_->share(*src.tensor_impl_); });
    update_from_implement();
}

void Tensor::update_from_implement() {
    layout_ = tensor_impl_->layout();
    device_type_ = tensor_impl_->is_on_host() ? LITE_CPU : device_type_of(tensor_impl_->device());
    device_id_ = tensor_impl_->device().index;
    is_pinned_host_ = tensor_impl_->is_pinned();
}

std::shared_ptr<Tensor> TensorUtils::concat(const std::vector<Tensor>& tensors, int dim,
                                            LiteDeviceType dst_device, int dst_device_id) {
    if (tensors.empty()) return std::make_shared<Tensor>();
    auto& first = TensorHelper::impl(tensors.front());
    size_t axis = axis_of(dim, first.layout().ndim);
    if (dst_device == LITE_DEVICE_DEFAULT) dst_device = device_type_of(first.device());
    if (dst_device_id == -1) dst_device_id = first.device().index;
    Layout layout = layout_of_all(tensors, axis);
    auto result = std::make_shared<Tensor>(dst_device_id, dst_device, layout, first.is_pinned());
    std::vector<size_t> start(axis + 1), end(layout.shapes, layout.shapes + axis + 1);
    for (auto& tensor : tensors) {
        end[axis] = start[axis] + layout_in(tensor).shapes[axis];
        if (TensorHelper::impl(tensor).view().elements()) result->slice(start, end)->copy_from(tensor);
        start[axis] = end[axis];
    }
    return result;
}

}  // namespace lite
