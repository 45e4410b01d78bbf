// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "libmge/compile/run/arenas.h"

namespace mge {

// Moves values of a run at one place together, by way of the host's memory, so that what lies free between
// them becomes one piece. What somebody else holds stays where it is.
class Compaction {
public:
    Compaction(const Arenas& arenas, size_t place) : arenas_(arenas), place_(place) {}
    void add(Tensor& value);
    // `moved` is given the new memory, and first a null one: to let the old one go.
    void add(const StorageRef& storage, std::function<void(StorageRef)> moved);
    // So that `needed` bytes more may find room. False when there was nothing to move.
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
