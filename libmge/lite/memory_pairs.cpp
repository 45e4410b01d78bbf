// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/memory_pairs.h"

#include "libmge/base/text.h"
#include "libmge/lite/device.h"
#include "lite/error.h"

namespace lite {
namespace {

uintptr_t number_of(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

MemoryPairs::Pieces::const_iterator MemoryPairs::before(uintptr_t address, LiteDeviceType device) const {
    auto next = pieces_.upper_bound({device, address});
    if (next == pieces_.begin() || std::prev(next)->first.first != device) return pieces_.end();
    return std::prev(next);
}

void MemoryPairs::add(const void* virtual_address, void* physical_address, size_t bytes,
                      LiteDeviceType device) {
    name_of(device);
    if (!virtual_address || !physical_address || bytes == 0)
        throw Error("a memory pair needs two addresses and a number of bytes");
    uintptr_t first = number_of(virtual_address), last = first + (bytes - 1);
    if (last < first)
        throw Error(mge::text("a memory pair of ", bytes, " bytes extends beyond the address space"));
    std::lock_guard lock(mutex_);
    // The piece that begins last before the end is the only one that can reach into the new one.
    auto other = before(last, device);
    if (other != pieces_.end() && other->first.second + (other->second.bytes - 1) >= first)
        throw Error(mge::text("the ", bytes, " bytes at ", virtual_address, " overlap with the ",
                              other->second.bytes, " bytes that are registered at ",
                              reinterpret_cast<const void*>(other->first.second)));
    pieces_[{device, first}] = {physical_address, bytes};
}

void MemoryPairs::remove(const void* virtual_address, const void* physical_address, LiteDeviceType device) {
    name_of(device);
    std::lock_guard lock(mutex_);
    auto found = pieces_.find({device, number_of(virtual_address)});
    if (found == pieces_.end() || found->second.physical != physical_address)
        throw Error(
            mge::text("no memory pair of ", virtual_address, " and ", physical_address, " is registered"));
    pieces_.erase(found);
}

void* MemoryPairs::physical(const void* virtual_address, LiteDeviceType device) const {
    name_of(device);
    uintptr_t address = number_of(virtual_address);
    std::lock_guard lock(mutex_);
    auto found = before(address, device);
    if (found == pieces_.end() || address - found->first.second >= found->second.bytes)
        throw Error(mge::text("the address ", virtual_address, " is not in a registered memory pair"));
    return static_cast<char*>(found->second.physical) + (address - found->first.second);
}

}  // namespace lite
