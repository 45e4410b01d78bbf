// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/cpu_device.h"

#include <cstring>
#include <fstream>

#include "libmge/device/cpu/caching_allocator.h"

namespace mge {
namespace {

class CpuDevice final : public Device {
public:
    std::string model() const override { return cpu_model(); }
    StorageRef allocate(size_t bytes) override { return allocator_.allocate(bytes); }
    MemoryStats memory() const override { return allocator_.stats(); }
    void set_memory_limit(size_t bytes) override { allocator_.set_limit(bytes); }
    void reset_peak() override { allocator_.reset_peak(); }
    void release_cached() override { allocator_.release_cached(); }
    void copy_from_host(void* target, const void* source, size_t bytes) override {
        std::memcpy(target, source, bytes);
    }
    void copy_to_host(void* target, const void* source, size_t bytes) override {
        std::memcpy(target, source, bytes);
    }
    void synchronize() override {}  // work runs on the calling thread

private:
    CachingAllocator& allocator_ = cpu_allocator();
};

std::string read_model() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown CPU";
}

}  // namespace

Device& open_cpu(int) {
    static CpuDevice device;
    return device;
}

std::string cpu_model() {
    static const std::string model = read_model();
    return model;
}

}  // namespace mge
