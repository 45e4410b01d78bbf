// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/block_pool.h"

#include <algorithm>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/device/cuda/shared_segments.h"

namespace mge::cuda {
namespace {

constexpr size_t granularity = 512;                // the alignment of cudaMalloc, sufficient for any access
constexpr size_t largest_small = size_t(1) << 20;  // the largest small block
constexpr size_t small_segment = size_t(2) << 20;
constexpr size_t large_segment = size_t(20) << 20;  // for blocks up to half its size
constexpr size_t segment_step = size_t(2) << 20;    // the driver's page size

size_t segment_bytes(size_t bytes, bool is_small) {
    if (is_small) return small_segment;
    return bytes <= large_segment / 2 ? large_segment : round_up(bytes, segment_step);
}

}  // namespace

// A part of a segment. Blocks of a segment are linked in address order. Storage::next_free points to the
// first one, which exists as long as the segment.
struct BlockPool::Block : Storage {
    BlockPool* pool = nullptr;
    Block *before = nullptr, *after = nullptr;
    int stream = 0;
    bool is_small = false, is_free = false;

    bool is_segment() const { return !before && !after; }
};

bool BlockPool::BySize::operator()(const Block* a, const Block* b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
}

BlockPool::Stream& BlockPool::stream(int number) {
    auto& slot = streams_.at(size_t(number));
    if (!slot) slot = std::make_unique<Stream>();
    return *slot;
}

BlockPool::FreeBlocks& BlockPool::free_blocks(const Block& block) {
    auto& own = stream(block.stream);
    return block.is_small ? own.small : own.large;
}

void BlockPool::require_within_limit(size_t bytes) const {
    size_t limit = limit_;
    if (limit && allocated_ + bytes > limit)
        throw MemoryError(text("cannot allocate ", bytes, " bytes on gpu", device_, ": ", allocated_,
                               " of the limit of ", limit, " bytes are in use"));
}

StorageRef BlockPool::allocate(size_t bytes, int stream) {
    size_t rounded = round_up(std::max<size_t>(bytes, 1), granularity);
    bool is_small = rounded <= largest_small;
    std::lock_guard lock(mutex_);
    require_within_limit(rounded);
    Block* block = take(rounded, is_small, stream);
    if (!block) block = new_segment(rounded, is_small, stream);
    cut(*block, rounded);
    block->is_free = false;
    block->users.store(1, std::memory_order_relaxed);
    allocated_ += block->bytes;
    peak_ = std::max(peak_, allocated_);
    return StorageRef(block);
}

BlockPool::Block* BlockPool::take(size_t bytes, bool is_small, int stream_number) {
    auto& own = stream(stream_number);
    auto& blocks = is_small ? own.small : own.large;
    Block least;
    least.bytes = bytes;
    auto found = blocks.lower_bound(&least);
    if (found == blocks.end()) return nullptr;
    Block* block = *found;
    blocks.erase(found);
    return block;
}

BlockPool::Block* BlockPool::new_segment(size_t bytes, bool is_small, int stream) {
    auto block = std::make_unique<Block>();
    block->bytes = segment_bytes(bytes, is_small);
    block->pool = this;
    block->release = release;
    block->next_free = block.get();
    block->device_index = uint8_t(device_);
    block->stream = stream;
    block->is_small = is_small;
    use_device(device_);
    cudaError_t status = cudaMalloc(&block->data, block->bytes);
    if (status == cudaErrorMemoryAllocation) {
        ignore(cudaGetLastError());
        release_all_free_segments();
        status = cudaMalloc(&block->data, block->bytes);
    }
    if (status == cudaErrorMemoryAllocation) {
        ignore(cudaGetLastError());
        throw MemoryError(text("gpu", device_, " has no ", bytes, " bytes of memory left: ", allocated_,
                               " bytes are in use by this process, ", reserved_, " held"));
    }
    check(status, "cudaMalloc");
    reserved_ += block->bytes;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
    return block.release();
}

// Shrinks a block to `bytes` and makes a new block of the remainder. A large block keeps a remainder that is
// too small for another large block.
void BlockPool::cut(Block& block, size_t bytes) {
    size_t rest = block.bytes - bytes;
    if (rest < (block.is_small ? granularity : largest_small)) return;
    auto made = std::make_unique<Block>();
    made->data = static_cast<char*>(block.data) + bytes;
    made->bytes = rest;
    made->pool = this;
    made->release = release;
    made->next_free = block.next_free;
    made->device_index = block.device_index;
    made->stream = block.stream;
    made->is_small = block.is_small;
    made->is_free = true;
    free_blocks(*made).insert(made.get());
    made->before = &block;
    made->after = block.after;
    if (block.after) block.after->before = made.get();
    block.after = made.release();
    block.bytes = bytes;
}

void BlockPool::join_with_next(Block& block) {
    std::unique_ptr<Block> next(block.after);
    block.bytes += next->bytes;
    block.after = next->after;
    if (block.after) block.after->before = &block;
}

void BlockPool::release(Storage* storage) {
    auto& block = static_cast<Block&>(*storage);
    block.pool->give_back(block);
}

void BlockPool::give_back(Block& given) {
    std::lock_guard lock(mutex_);
    allocated_ -= given.bytes;
    Block* block = &given;
    auto& blocks = free_blocks(*block);
    if (block->after && block->after->is_free) {
        blocks.erase(block->after);
        join_with_next(*block);
    }
    if (block->before && block->before->is_free) {
        block = block->before;
        blocks.erase(block);
        join_with_next(*block);
    }
    block->is_free = true;
    blocks.insert(block);
}

void BlockPool::release_free_segments(FreeBlocks& blocks) {
    for (auto it = blocks.begin(); it != blocks.end();) {
        if (!(*it)->is_segment()) {
            ++it;
            continue;
        }
        std::unique_ptr<Block> segment(*it);
        it = blocks.erase(it);
        reserved_ -= segment->bytes;
        ignore(cudaFree(segment->data));  // waits for in-flight work
    }
}

void BlockPool::release_all_free_segments() {
    for (auto& own : streams_) {
        if (!own) continue;
        release_free_segments(own->small);
        release_free_segments(own->large);
    }
}

MemoryStats BlockPool::stats() const {
    std::lock_guard lock(mutex_);
    MemoryStats stats;
    stats.allocated = allocated_;
    stats.reserved = reserved_;
    stats.peak = peak_;
    stats.limit = limit_;
    stats.peak_reserved = peak_reserved_;
    return stats;
}

void* segment_of(const Storage& storage) { return storage.next_free ? storage.next_free->data : nullptr; }

void BlockPool::reset_peaks() {
    std::lock_guard lock(mutex_);
    peak_ = allocated_;
    peak_reserved_ = reserved_;
}

void BlockPool::release_cached() {
    std::lock_guard lock(mutex_);
    use_device(device_);
    release_all_free_segments();
}

}  // namespace mge::cuda
