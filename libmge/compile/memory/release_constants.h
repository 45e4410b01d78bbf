// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants that the steps read only as packed copies give their memory back while algorithms are bound: the
// pages of a mapped file are dropped (they come back when somebody reads them), other memory is let go, and
// is free once the graph that was compiled is gone as well.

#include <map>
#include <set>
#include <vector>

#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

// What a node's constants hold of a mapped file; it comes back from there when they are read again.
void release_pages_of_constants(const Graph& graph, const Node& node);

class ConstantRelease {
public:
    // Both have to outlive it; the constants are taken out of the graph.
    ConstantRelease(Graph& graph, const Schedule& schedule);
    // The step's algorithm is prepared. After its last reader a constant is released, unless one of them
    // reads the original.
    void bound(size_t step, const Prepared& prepared);
    // By value id.
    std::vector<bool> released() && { return std::move(released_); }
    // The constants, by address, whose bytes no step has used: each read a copy that lies in a file.
    std::set<const void*> unread() const;

private:
    struct Readers {
        int unbound = 0;
        bool need_original = false;   // in each run
        bool take_from_file = false;  // each of those that are bound reads one of `copies`
        const void* original = nullptr;
        std::vector<const void*> copies;  // that lie in a file
    };
    void release_unread(int buffer);

    Graph& graph_;
    const Schedule& schedule_;
    std::vector<Readers> readers_;  // by buffer
    std::vector<bool> released_;
};

// Gives back the pages of what lies in mapped files, those between neighbours too; `kept`: where constants
// begin that are still read.
void release_mapped(std::vector<std::span<const std::byte>> pieces, const std::set<const void*>& kept);

// ModelError when a mapped file was cut that some of these constants (by address) lie in.
void require_whole_files(const std::map<const void*, size_t>& constants);

}  // namespace mge
