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

// Pairs of corresponding values of two dumps. The dumps must outlive it.
struct MatchedDumps {
    std::vector<DumpPair> pairs;                    // in the order of the first dump
    std::vector<std::string> only_in_a, only_in_b;  // names of values or files
};

// Matches by "file", "name", "origin" (the source operator of a value, whatever the passes did) or "auto",
// which selects one. Throws UsageError if the dumps lack the required data.
MatchedDumps match_dumps(const IoDump& a, const IoDump& b, const std::string& how);

}  // namespace mge::dump
