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
    BlockCache();
    ~BlockCache();
    bool has_block() const { return count_ > 0; }
    void* take() { return has_block() ? blocks_[--count_] : ::operator new(sizeof(TensorImpl)); }
    void give(void* block) {
        if (count_ < blocks_.size())
            blocks_[count_++] = block;
        else
            ::operator delete(block);
    }

private:
    std::array<void*, 256> blocks_;
    size_t count_ = 0;
};

// A plain pointer at a fixed place: reaching an object with a destructor costs two calls each time.
[[gnu::tls_model("initial-exec")]] constinit thread_local BlockCache* block_cache = nullptr;
// Tensors in static storage die after the thread's cache.
constinit thread_local bool is_cache_closed = false;

BlockCache::BlockCache() { block_cache = this; }
BlockCache::~BlockCache() {
    is_cache_closed = true;
    block_cache = nullptr;
    while (count_ > 0) ::operator delete(blocks_[--count_]);
}

// Null at the end of the thread, and without memory for a cache: tensors are freed anyway.
[[gnu::noinline]] BlockCache* open_block_cache() try {
    if (is_cache_closed) return nullptr;
    // On the heap: the few bytes of static thread memory that a loaded library gets must do for all pointers.
    thread_local const auto cache = std::make_unique<BlockCache>();
    return cache.get();
} catch (const std::bad_alloc&) {
    return nullptr;
}

// Out of line, so that the common path makes no calls and saves no registers.
[[gnu::noinline]] void remake_impl(TensorImpl*& impl, const TensorSpec& spec, StorageRef& storage,
                                   size_t offset, DeviceId device) {
    BlockCache* cache = block_cache ? block_cache : open_block_cache();
    void* block = cache ? cache->take() : ::operator new(sizeof(TensorImpl));
    impl = ::new (block) TensorImpl(device, spec, std::move(storage), offset);
}

void give_block(void* block) {
    BlockCache* cache = block_cache;
    if (!cache) [[unlikely]]
        cache = open_block_cache();
    if (cache)
        cache->give(block);
    else
        ::operator delete(block);
}

}  // namespace

Tensor::Tensor(const TensorSpec& spec, StorageRef storage, size_t offset, DeviceId device) {
    BlockCache* cache = block_cache;
    if (cache && cache->has_block()) [[likely]]
        impl_ = ::new (cache->take()) TensorImpl(device, spec, std::move(storage), offset);
    else
        remake_impl(impl_, spec, storage, offset, device);
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

void Tensor::throw_not_on_host() const {
    throw UserError(text("the host cannot read ", spec(), " on a device of kind ", int(device().kind),
                         ": copy it to the host first (to_host)"));
}

void Tensor::destroy(TensorImpl* impl) {
    std::destroy_at(impl);
    give_block(impl);
}

TensorSpecs specs_of(std::span<const Tensor> tensors) {
    TensorSpecs specs;
    for (auto& tensor : tensors) specs.push_back(tensor ? tensor.spec() : TensorSpec{});
    return specs;
}

}  // namespace mge
