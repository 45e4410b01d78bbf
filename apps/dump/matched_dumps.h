// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/inspect/io_dump/io_dump.h"

namespace mge::dump {

struct DumpPair {
    const DumpRecord* a;
    const DumpRecord* b;
};

// Which values of two dumps are the same; the dumps have to live as long.
struct MatchedDumps {
    std::vector<DumpPair> pairs;                    // in the order of the first
    std::vector<std::string> only_in_a, only_in_b;  // names, or of files
};

// `how`: "file", "name", "origin" (where values come from in the network, whatever the passes made of it) or
// "auto", which takes what fits. UsageError when the dumps do not have what it needs.
MatchedDumps match_dumps(const IoDump& a, const IoDump& b, const std::string& how);

}  // namespace mge::dump
