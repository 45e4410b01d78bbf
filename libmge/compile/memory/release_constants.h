// SPDX-License-Identifier: Apache-2.0
#pragma once
// Releases constants that steps read only as packed copies while algorithms are bound. Pages of a mapped file
// are dropped and come back if read again. Other memory is freed once the source graph is destroyed as well.

#include <map>
#include <set>
#include <vector>

#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

// Drops the pages that a node's constants occupy of mapped files. They come back when read again.
void release_pages_of_constants(const Graph& graph, const Node& node);

class ConstantRelease {
public:
    // Both must outlive it. Constants are removed from the graph.
    ConstantRelease(Graph& graph, const Schedule& schedule);
    // Call when a step's algorithm is prepared. A constant is released after its last reader, unless a reader
    // needs the original.
    void bound(size_t step, const Prepared& prepared);
    // by value id
    std::vector<bool> released() && { return std::move(released_); }
    // Returns addresses of constants whose bytes no step uses: each step reads a copy in a file.
    std::set<const void*> unread() const;

private:
    struct Readers {
        int unbound = 0;
        bool need_original = false;   // in each run
        bool take_from_file = false;  // each bound reader reads one of `copies`
        const void* original = nullptr;
        std::vector<const void*> copies;  // copies in a file
    };
    void release_unread(int buffer);

    Graph& graph_;
    const Schedule& schedule_;
    std::vector<Readers> readers_;  // by buffer
    std::vector<bool> released_;
};

// Drops the pages of pieces of mapped files and of the gaps between them. `kept` lists the starts of
// constants still in use.
void release_mapped(std::vector<std::span<const std::byte>> pieces, const std::set<const void*>& kept);

// Throws ModelError if a mapped file that contains one of these constants (by address) was truncated.
void require_whole_files(const std::map<const void*, size_t>& constants);

}  // namespace mge
