// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device with the CPU's memory and kernels that counts its allocations.

#include "libmge/op/backend.h"

namespace mge::test {

class CountingDevice final : public Device {
public:
    std::string model() const override { return "a CPU that counts"; }
    StorageRef allocate(size_t bytes) override {
        ++allocations;
        return cpu_.allocate(bytes);
    }
    MemoryStats memory() const override { return cpu_.memory(); }
    void set_memory_limit(size_t bytes) override { cpu_.set_memory_limit(bytes); }
    void reset_peak() override { cpu_.reset_peak(); }
    void release_cached() override { cpu_.release_cached(); }
    void copy_from_host(void* target, const void* source, size_t bytes) override {
        cpu_.copy_from_host(target, source, bytes);
    }
    void copy_to_host(void* target, const void* source, size_t bytes) override {
        cpu_.copy_to_host(target, source, bytes);
    }
    void synchronize() override { cpu_.synchronize(); }

    static CountingDevice& instance() {
        static CountingDevice device;
        return device;
    }
    int allocations = 0;

private:
    Device& cpu_ = device(DeviceId{});
};

// While it lives, everything is computed on the counting device.
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
