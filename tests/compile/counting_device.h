// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device with the CPU's memory and kernels that counts its allocations.

#include "libmge/device/default_device.h"
#include "libmge/op/backend.h"

namespace mge::test {

class CountingDevice final : public Device, public Queue {
public:
    std::string model() const override { return "a CPU that counts"; }
    std::string fingerprint() const override { return cpu_.fingerprint(); }
    Queue& queue(int) override { return *this; }
    MemoryStats memory() const override { return cpu_.memory(); }
    void set_memory_limit(size_t bytes) override { cpu_.set_memory_limit(bytes); }
    void reset_peak() override { cpu_.reset_peak(); }
    void release_cached() override { cpu_.release_cached(); }
    void synchronize() override {}

    StorageRef allocate(size_t bytes) override {
        ++allocations;
        return work_.allocate(bytes);
    }
    void copy_from_host(void* target, const void* source, size_t bytes) override {
        work_.copy_from_host(target, source, bytes);
    }
    void copy_to_host(void* target, const void* source, size_t bytes) override {
        work_.copy_to_host(target, source, bytes);
    }
    void copy(void* target, const void* source, size_t bytes) override { work_.copy(target, source, bytes); }
    void fill(void* target, int byte, size_t bytes) override { work_.fill(target, byte, bytes); }
    std::shared_ptr<const Event> record() override { return nullptr; }
    void wait_for(const Event& event) override { event.wait(); }
    void wait() override {}

    static CountingDevice& instance() {
        static CountingDevice device;
        return device;
    }
    int allocations = 0;

private:
    Device& cpu_ = device(host_device);
    Queue& work_ = queue_of(host_device);
};

// While it lives, the counting device is the default one.
class OnCountingDevice {
public:
    OnCountingDevice() {
        static const uint8_t kind = add_backend({backend_abi, "counting", cpu_kernel_table(), 1,
                                                 +[](int) -> Device& { return CountingDevice::instance(); }});
        DeviceId id;
        id.kind = kind;
        set_default_device(id);
    }
    ~OnCountingDevice() { set_default_device(DeviceId{}); }
    OnCountingDevice(const OnCountingDevice&) = delete;
};

}  // namespace mge::test
