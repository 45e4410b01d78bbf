// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>

namespace mge::test {

// A stretch of memory, and one of equal size that can neither be read nor written and stands for it.
class ShadowMemory {
public:
    static ShadowMemory& instance();

    // Null when there is none left. Aligned to 64.
    void* allocate(size_t bytes);
    // The host address for a device address; null stays null. InternalError for an address that does not
    // belong to the device: the caller mistook the host's memory for the device's.
    void* on_host(const void* address) const;

private:
    ShadowMemory();
    char *real_ = nullptr, *shadow_ = nullptr;
    std::atomic<size_t> used_{0};
};

}  // namespace mge::test
