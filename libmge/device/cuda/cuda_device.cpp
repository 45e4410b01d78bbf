// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/cuda_device.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "libmge/base/error.h"
#include "libmge/base/version.h"
#include "libmge/device/copying.h"
#include "libmge/device/cuda/cuda_queue.h"
#include "libmge/device/cuda/host_memory.h"
#include "libmge/device/cuda/library.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/device/cuda/shared_segments.h"
#include "libmge/device/sharing.h"

namespace mge::cuda {
namespace {

cudaDeviceProp properties_of(int device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties;
}

// Page-locked memory that counts in MemoryStats::page_locked.
struct Locked final : Storage {
    std::atomic<size_t>* counted = nullptr;
};

void release_locked(Storage* storage) {
    std::unique_ptr<Locked> owned(static_cast<Locked*>(storage));
    *owned->counted -= owned->bytes;
    ignore(cudaFreeHost(owned->data));
}

class CudaDevice final : public Device, public SharingDevice, public CopyingDevice {
public:
    explicit CudaDevice(int index) : index_(index), properties_(properties_of(index)), memory_(index) {}

    std::string model() const override { return properties_.name; }
    // Without the driver's version: the driver compiles none of our kernels.
    std::string fingerprint() const override {
        return text(properties_.name, " | sm_", properties_.major, properties_.minor, ", ",
                    properties_.multiProcessorCount, " multiprocessors | mge ", version, ", CUDA ",
                    CUDART_VERSION, library_versions());
    }
    Queue& queue(int stream) override { return queue_in(queues_, stream); }
    MemoryStats memory() const override {
        MemoryStats stats = memory_.stats();
        stats.page_locked = page_locked_;
        return stats;
    }
    void set_memory_limit(size_t bytes) override { memory_.set_limit(bytes); }
    void reset_peak() override { memory_.reset_peaks(); }
    void release_cached() override { memory_.release_cached(); }
    void synchronize() override {
        use_device(index_);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        for (auto& queue : queues_)
            if (auto* made = queue.load(std::memory_order_acquire)) made->throw_index_fault();
    }
    StorageRef allocate_host(size_t bytes) override;
    bool locks_host_memory() const override { return true; }
    MemoryStatus memory_status() const override;
    size_t eviction_bytes() const override { return 2 * size_t(properties_.l2CacheSize); }
    int compute_capability() const override { return 10 * properties_.major + properties_.minor; }
    SharedBlock share(const Storage& storage) override;
    StorageRef open_shared(const SharedBlock& block, std::shared_ptr<const void> keeper) override {
        return open_block(block, index_, std::move(keeper));
    }
    Queue& copies(int stream, CopyWay way) override { return copying_queue(stream, way); }
    bool start_copy(int stream, CopyWay way, void* target, const void* source, size_t bytes) override;
    void throw_faults(int stream) override { queue_in(queues_, stream).throw_index_fault(); }

private:
    using Queues = std::array<std::atomic<CudaQueue*>, 256>;  // by stream
    CudaQueue& queue_in(Queues& queues, int stream);
    CudaQueue& copying_queue(int stream, CopyWay way) {
        return queue_in(way == CopyWay::to_device ? uploads_ : downloads_, stream);
    }

    const int index_;
    const cudaDeviceProp properties_;
    BlockPool memory_;
    std::atomic<size_t> page_locked_{0};
    Queues queues_{}, uploads_{}, downloads_{};
    std::mutex adding_;
};

// Queues are never destroyed.
CudaQueue& CudaDevice::queue_in(Queues& queues, int stream) {
    auto& slot = queues.at(size_t(stream));
    if (auto* found = slot.load(std::memory_order_acquire)) [[likely]]
        return *found;
    std::lock_guard lock(adding_);
    if (auto* found = slot.load(std::memory_order_relaxed)) return *found;
    auto* made = std::make_unique<CudaQueue>(memory_, index_, stream).release();
    slot.store(made, std::memory_order_release);
    return *made;
}

bool CudaDevice::start_copy(int stream, CopyWay way, void* target, const void* source, size_t bytes) {
    CudaQueue& queue = copying_queue(stream, way);
    bool is_upload = way == CopyWay::to_device;
    bool is_later = is_read_in_place(is_upload ? source : target);
    // Downloads to pageable memory must be complete when the call returns.
    if (!is_later && !is_upload) {
        queue.copy_to_host(target, source, bytes);
        return false;
    }
    check(cudaMemcpyAsync(target, source, bytes, is_upload ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                          queue.stream()),
          "cudaMemcpyAsync");
    return is_later;
}

MemoryStatus CudaDevice::memory_status() const {
    size_t free = 0, total = 0;
    use_device(index_);
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {total, free};
}

StorageRef CudaDevice::allocate_host(size_t bytes) {
    auto locked = std::make_unique<Locked>();
    use_device(index_);
    check(cudaHostAlloc(&locked->data, std::max<size_t>(bytes, 1), cudaHostAllocPortable), "cudaHostAlloc");
    locked->bytes = bytes;
    locked->release = release_locked;
    locked->counted = &page_locked_;
    page_locked_ += bytes;
    return StorageRef(locked.release());
}

// A block that another process shares is passed on with its original handle.
SharedBlock CudaDevice::share(const Storage& storage) {
    synchronize();
    if (auto* opened = opened_block(storage)) return *opened;
    void* segment = segment_of(storage);
    MGE_CHECK(segment, "memory that is not the pool's cannot be shared");
    auto offset = size_t(static_cast<char*>(storage.data) - static_cast<char*>(segment));
    return {handle_of(segment), offset, storage.bytes};
}

}  // namespace

// Never destroyed: memory may be freed during static destruction.
Device& open_device(int index) {
    static std::array<std::atomic<CudaDevice*>, 256> devices{};
    static std::mutex opening;
    auto& slot = devices.at(size_t(index));
    if (auto* found = slot.load(std::memory_order_acquire)) [[likely]]
        return *found;
    std::lock_guard lock(opening);
    if (auto* found = slot.load(std::memory_order_relaxed)) return *found;
    use_device(index);
    auto* made = std::make_unique<CudaDevice>(index).release();
    slot.store(made, std::memory_order_release);
    return *made;
}

}  // namespace mge::cuda
