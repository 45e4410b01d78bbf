// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "lite/common_enum_c.h"

namespace lite {

// Which physical address a piece of virtual memory has on a device. Pieces of one device do not overlap. A
// device is one of Lite's types, or an Error.
class MemoryPairs {
public:
    // Error for a null address, no bytes, or bytes that are registered already.
    void add(const void* virtual_address, void* physical_address, size_t bytes, LiteDeviceType device);
    // Error unless that pair was added.
    void remove(const void* virtual_address, const void* physical_address, LiteDeviceType device);
    // The physical address for one inside a range; Error if there is no such range.
    void* physical(const void* virtual_address, LiteDeviceType device) const;

private:
    struct Piece {
        void* physical;
        size_t bytes;
    };
    // By device and the virtual address of the first byte.
    using Key = std::pair<LiteDeviceType, uintptr_t>;
    using Pieces = std::map<Key, Piece>;
    // The last range that begins at or before the address; end() if it is on another device, or there is
    // none.
    Pieces::const_iterator before(uintptr_t address, LiteDeviceType device) const;

    mutable std::mutex mutex_;
    Pieces pieces_;
};

}  // namespace lite
