// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/tensor.h"

#include <array>
#include <memory>
#include <new>

namespace mge {
namespace {

// Handles come and go with every eager operator: each thread keeps a few of their blocks.
class BlockCache {
public:
    ~BlockCache() {
        while (count_ > 0) ::operator delete(blocks_[--count_]);
        closed_ = true;
    }
    void* take() { return count_ > 0 ? blocks_[--count_] : ::operator new(sizeof(TensorImpl)); }
    void give(void* block) {
        if (count_ < blocks_.size() && !closed_)
            blocks_[count_++] = block;
        else
            ::operator delete(block);
    }

private:
    std::array<void*, 256> blocks_;
    size_t count_ = 0;
    bool closed_ = false;  // tensors in static storage die after the thread's cache
};
thread_local BlockCache block_cache;

TensorImpl* make_impl() { return ::new (block_cache.take()) TensorImpl; }

}  // namespace

Tensor::Tensor(const TensorSpec& spec, StorageRef storage, size_t offset, DeviceId device)
    : impl_(make_impl()) {
    impl_->spec = spec;
    impl_->storage = std::move(storage);
    impl_->offset = offset;
    impl_->device = device;
}

Tensor Tensor::symbolic(const TensorSpec& spec, void* owner, int symbol, DeviceId device) {
    Tensor tensor(spec, {}, 0, device);
    tensor.impl_->symbol_owner = owner;
    tensor.impl_->symbol = symbol;
    return tensor;
}

Tensor Tensor::with_shape(const Shape& shape) const {
    MGE_CHECK(shape.numel() == spec().numel(), shape, " for ", spec());
    return Tensor({dtype(), shape, {}}, impl_->storage, impl_->offset, impl_->device);
}

Tensor Tensor::alias() const {
    Tensor tensor(spec(), impl_->storage, impl_->offset, impl_->device);
    tensor.impl_->symbol_owner = impl_->symbol_owner;
    tensor.impl_->symbol = impl_->symbol;
    return tensor;
}

void Tensor::destroy(TensorImpl* impl) {
    std::destroy_at(impl);
    block_cache.give(impl);
}

}  // namespace mge
