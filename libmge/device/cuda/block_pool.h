// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocates GPU memory in large segments and cuts them into blocks. Each queue has its own blocks, because
// its in-flight work runs before the next use of a block. Other queues access a block only in copies, for
// which its own queue waits (copy_between). Adjacent free blocks are merged. Fully free segments are returned
// to the driver when memory is short.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "libmge/device/device.h"

namespace mge::cuda {

class BlockPool {
public:
    explicit BlockPool(int device) : device_(device) {}
    // Allocates at least `bytes` bytes, aligned to 512. Throws MemoryError if the limit or the device
    // refuses.
    StorageRef allocate(size_t bytes, int stream);
    MemoryStats stats() const;
    void set_limit(size_t bytes) { limit_ = bytes; }
    void reset_peaks();
    void release_cached();

private:
    struct Block;
    struct BySize {
        bool operator()(const Block* a, const Block* b) const;
    };
    using FreeBlocks = std::set<Block*, BySize>;
    struct Stream {
        // Small blocks come from small segments, so that they never fragment large ones.
        FreeBlocks small, large;
    };

    static void release(Storage* storage);
    void give_back(Block& block);
    Stream& stream(int number);
    FreeBlocks& free_blocks(const Block& block);
    Block* take(size_t bytes, bool is_small, int stream);
    Block* new_segment(size_t bytes, bool is_small, int stream);
    void cut(Block& block, size_t bytes);
    void join_with_next(Block& block);
    void require_within_limit(size_t bytes) const;
    void release_free_segments(FreeBlocks& blocks);
    void release_all_free_segments();

    const int device_;
    mutable std::mutex mutex_;
    std::array<std::unique_ptr<Stream>, 256> streams_;
    size_t allocated_ = 0, reserved_ = 0, peak_ = 0, peak_reserved_ = 0;
    std::atomic<size_t> limit_{0};
};

}  // namespace mge::cuda
