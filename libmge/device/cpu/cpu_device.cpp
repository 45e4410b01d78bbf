// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/cpu_device.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "libmge/base/error.h"
#include "libmge/device/cpu/caching_allocator.h"
#include "libmge/device/cpu/isa_of_machine.h"
#include "libmge/device/cpu/library_versions.h"

namespace mge {
namespace {

// Runs all work at once in the calling thread.
class CpuQueue final : public Queue {
public:
    explicit CpuQueue(CachingAllocator& allocator) : allocator_(allocator) {}
    StorageRef allocate(size_t bytes) override { return allocator_.allocate(bytes); }
    void copy_from_host(void* target, const void* source, size_t bytes) override {
        copy(target, source, bytes);
    }
    void copy_to_host(void* target, const void* source, size_t bytes) override {
        copy(target, source, bytes);
    }
    // memcpy() of 0 bytes still requires valid pointers.
    void copy(void* target, const void* source, size_t bytes) override {
        if (bytes) std::memcpy(target, source, bytes);
    }
    void fill(void* target, int byte, size_t bytes) override {
        if (bytes) std::memset(target, byte, bytes);
    }
    std::shared_ptr<const Event> record() override { return nullptr; }
    void wait_for(const Event& event) override { event.wait(); }
    void wait() override {}

private:
    CachingAllocator& allocator_;
};

class CpuDevice final : public Device {
public:
    explicit CpuDevice(int index) : allocator_(cpu_allocator(index)), queue_(allocator_) {}
    std::string model() const override { return cpu_model(); }
    std::string fingerprint() const override {
        static const std::string versions = library_versions();
        return text(cpu_model(), " | ", name_of(cpu_isa()), " | ", versions);
    }
    Queue& queue(int) override { return queue_; }
    MemoryStats memory() const override { return allocator_.stats(); }
    void set_memory_limit(size_t bytes) override { allocator_.set_limit(bytes); }
    void reset_peak() override { allocator_.reset_peaks(); }
    void release_cached() override { allocator_.release_cached(); }
    void synchronize() override {}

private:
    CachingAllocator& allocator_;
    CpuQueue queue_;
};

// Index 0 is unused: see open_cpu().
std::array<std::atomic<Device*>, 256> other_cpus{};

}  // namespace

// Never destroyed, like their allocators.
Device& open_cpu(int index) {
    static Device& first = *std::make_unique<CpuDevice>(0).release();
    if (index == 0) [[likely]]
        return first;
    auto& slot = other_cpus.at(size_t(index));
    Device* found = slot.load(std::memory_order_acquire);
    if (found) return *found;
    auto made = std::make_unique<CpuDevice>(index);
    if (slot.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *found;
}

void release_cached_by_cpus() {
    open_cpu(0).release_cached();
    for (auto& slot : other_cpus)
        if (auto* device = slot.load(std::memory_order_acquire)) device->release_cached();
}

std::string cpu_model() {
    static const std::string model = model_of_machine();
    return model;
}

}  // namespace mge
