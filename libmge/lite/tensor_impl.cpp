// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/tensor_impl.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/base/text.h"
#include "libmge/device/device.h"
#include "libmge/lite/copy_view.h"
#include "libmge/lite/layout.h"

namespace lite {
namespace {

void require_layout(const Layout& layout, const char* what) {
    if (layout.ndim == 0) throw Error(mge::text(what, "the tensor has no layout"));
}

}  // namespace

std::byte* Tensor::TensorImplBase::address(const char* caller) {
    if (hook_) hook_();
    require_layout(layout(), caller);
    if (!storage_) allocate();
    return current_address();
}

std::byte* Tensor::TensorImplBase::current_address() const {
    return storage_ ? static_cast<std::byte*>(storage_->data) + offset_ : nullptr;
}

void Tensor::TensorImplBase::allocate() {
    size_t bytes = std::max<size_t>(view_.bytes(), 1);
    storage_ =
        is_pinned_ ? mge::device(device_).allocate_host(bytes) : mge::queue_of(device_).allocate(bytes);
    offset_ = 0;
    capacity_ = bytes;
    ++changes_;
}

void Tensor::TensorImplBase::forget_memory() {
    storage_ = {};
    offset_ = capacity_ = 0;
}

void Tensor::TensorImplBase::set_layout(const Layout& layout) {
    if (layout == view_.layout()) return;
    TensorView view(layout);
    if (view.bytes() > capacity_) forget_memory();
    view_ = view;
    ++changes_;
}

void Tensor::TensorImplBase::reshape(std::span<const int> shape) {
    view_ = view_.reshaped(shape);
    ++changes_;
}

void Tensor::TensorImplBase::reset(void* data, size_t bytes) {
    require_layout(layout(), "reset: ");
    if (!data) throw Error("reset: the address is null");
    if (bytes < view_.bytes())
        throw Error(mge::text("reset: ", mge::counted(bytes, "byte"), " for a tensor of ", text_of(layout()),
                              ", which needs ", view_.bytes()));
    view_ = TensorView(layout());
    storage_ = mge::borrow_storage(data, bytes, nullptr);
    offset_ = 0;
    capacity_ = bytes;
    ++changes_;
}

void Tensor::TensorImplBase::share(TensorImplBase& source) {
    source.address("share_memory_with: ");
    device_ = source.device_;
    is_pinned_ = source.is_pinned_;
    view_ = source.view_;
    storage_ = source.storage_;
    offset_ = source.offset_;
    capacity_ = source.capacity_;
    ++changes_;
}

void Tensor::TensorImplBase::share_part(TensorImplBase& source, TensorView::Numbers start,
                                        TensorView::Numbers end, TensorView::Numbers step) {
    source.address("slice: ");
    auto part = source.view_.part(start, end, step);
    share(source);
    view_ = part.view;
    offset_ += part.offset;
    // Memory after a slice or between its rows belongs to others.
    capacity_ = view_.is_dense() ? view_.bytes() : 0;
}

void Tensor::TensorImplBase::hold(const mge::Tensor& tensor) {
    view_ = TensorView(layout_of(tensor.spec()));
    device_ = tensor.device();
    is_pinned_ = false;
    storage_ = tensor.impl()->storage;
    offset_ = tensor.impl()->offset;
    capacity_ = 0;
    ++changes_;
}

mge::Tensor Tensor::TensorImplBase::engine_tensor() {
    address();
    if (!view_.is_dense())
        throw Error(mge::text("a slice of ", text_of(layout()), " with gaps is not a tensor of the engine"));
    return {spec_of(layout()), storage_, offset_, place()};
}

void Tensor::TensorImplBase::copy_from(TensorImplBase& source) {
    std::byte* from = source.address("copy_from: ");
    if (view_.is_dense())
        set_layout(source.layout());
    else if (!(layout() == source.layout()))
        throw Error(mge::text("copy_from: a tensor of ", text_of(source.layout()), " into a slice of ",
                              text_of(layout()), " with gaps, whose layout cannot change"));
    std::byte* to = address();
    copy_view({view_, place(), to}, {source.view_, source.place(), from});
}

void Tensor::TensorImplBase::fill_zero() {
    std::byte* to = address("fill_zero: ");
    fill_view_with_zeros({view_, place(), to});
}

std::shared_ptr<Tensor> TensorHelper::make(std::shared_ptr<Tensor::TensorImplBase> impl) {
    auto tensor = std::make_shared<Tensor>();
    tensor->tensor_impl_ = std::move(impl);
    tensor->update_from_implement();
    return tensor;
}

}  // namespace lite
