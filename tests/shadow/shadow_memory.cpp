// SPDX-License-Identifier: Apache-2.0
#include "tests/shadow/shadow_memory.h"

#include <sys/mman.h>

#include <memory>

#include "libmge/base/error.h"

namespace mge::test {
namespace {

constexpr size_t region_bytes = size_t(8) << 30;  // size of the address range; pages are allocated on first
                                                  // access

char* map_region(int protection) {
    void* address =
        ::mmap(nullptr, region_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MGE_CHECK(address != MAP_FAILED, "no addresses for the shadow device");
    return static_cast<char*>(address);
}

}  // namespace

ShadowMemory& ShadowMemory::instance() {
    // Never destroyed: tensors in static storage are released late.
    static ShadowMemory& memory = *std::unique_ptr<ShadowMemory>(new ShadowMemory).release();
    return memory;
}

ShadowMemory::ShadowMemory() : real_(map_region(PROT_READ | PROT_WRITE)), shadow_(map_region(PROT_NONE)) {}

void* ShadowMemory::allocate(size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    size_t at = used_.fetch_add(bytes);
    return at + bytes <= region_bytes ? shadow_ + at : nullptr;
}

void* ShadowMemory::on_host(const void* address) const {
    if (!address) return nullptr;
    auto* at = static_cast<const char*>(address);
    MGE_CHECK(at >= shadow_ && at <= shadow_ + region_bytes, "an address that is none of the shadow device");
    return real_ + (at - shadow_);
}

}  // namespace mge::test
