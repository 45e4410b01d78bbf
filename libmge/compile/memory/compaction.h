// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "libmge/compile/run/arenas.h"

namespace mge {

// Moves values of a run on one place together, through host memory, so that the free space between them
// becomes contiguous. Values that are held elsewhere stay.
class Compaction {
public:
    Compaction(const Arenas& arenas, size_t place) : arenas_(arenas), place_(place) {}
    void add(Tensor& value);
    // `moved` is called twice: with null, to drop the old memory, and with the new memory.
    void add(const StorageRef& storage, std::function<void(StorageRef)> moved);
    // Makes space for `needed` more bytes. Returns false if there is nothing to move.
    bool run(size_t needed);

private:
    struct Value {
        size_t bytes;
        std::vector<char> kept;
        std::function<void(StorageRef)> moved;
    };
    const Arenas& arenas_;
    size_t place_;
    std::vector<Value> values_;
};

}  // namespace mge
