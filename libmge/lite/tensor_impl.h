// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state that handles of a lite::Tensor share, and the interface for the rest of Lite.

#include <cstdint>
#include <functional>
#include <memory>

#include "libmge/lite/tensor_view.h"
#include "libmge/tensor/tensor.h"
#include "lite/tensor.h"

namespace lite {

// Memory and its elements. Memory is allocated on first use; before, a tensor only has a device. The memory
// may be the tensor's own, the caller's, another tensor's or the engine's.
class Tensor::TensorImplBase {
public:
    // Called before the memory is handed out: the time to provide it with hold().
    using MemoryHook = std::function<void()>;

    explicit TensorImplBase(mge::DeviceId device = {}, bool is_pinned = false)
        : device_(device), is_pinned_(is_pinned) {}

    // The device that the memory is on, or, of pinned memory of the host, for.
    mge::DeviceId device() const { return device_; }
    bool is_pinned() const { return is_pinned_; }
    bool is_on_host() const { return is_pinned_ || device_.is_host(); }
    // The device for copies.
    mge::DeviceId place() const { return is_pinned_ ? mge::host_device : device_; }
    const TensorView& view() const { return view_; }
    const Layout& layout() const { return view_.layout(); }

    // The address of the first element, on the tensor's device. Error for a tensor without a layout.
    std::byte* address(const char* caller = "get_memory_ptr: ");
    // The same without allocating: null if there is no memory.
    std::byte* current_address() const;
    // Counts how often the address or the layout has changed.
    uint64_t changes() const { return changes_; }

    void set_layout(const Layout& layout);
    void reshape(std::span<const int> shape);
    // The caller's memory from now on.
    void reset(void* data, size_t bytes);
    // The layout and the memory of another tensor, or a part of it.
    void share(TensorImplBase& source);
    void share_part(TensorImplBase& source, TensorView::Numbers start, TensorView::Numbers end,
                    TensorView::Numbers step);
    // Uses the engine's memory without a copy; the layout becomes that of `tensor`.
    void hold(const mge::Tensor& tensor);
    // The tensor's memory as the engine's. Error for a slice with gaps, and for element types that no
    // operator computes with.
    mge::Tensor engine_tensor();

    // Copies of all kinds end before the call returns.
    void copy_from(TensorImplBase& source);
    void fill_zero();

    void set_memory_hook(MemoryHook hook) { hook_ = std::move(hook); }

private:
    void allocate();
    void forget_memory();

    mge::DeviceId device_;
    bool is_pinned_ = false;
    TensorView view_;
    mge::StorageRef storage_;
    size_t offset_ = 0;    // bytes from the start of the storage to the first element
    size_t capacity_ = 0;  // bytes from there on that the tensor may use for other layouts
    uint64_t changes_ = 0;
    MemoryHook hook_;
};

// Reaches into tensors.
class TensorHelper {
public:
    static Tensor::TensorImplBase& impl(const Tensor& tensor) { return *tensor.tensor_impl_; }
    static std::shared_ptr<Tensor> make(std::shared_ptr<Tensor::TensorImplBase> impl);
};

}  // namespace lite
