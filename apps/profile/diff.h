// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>

#include "apps/cli/tool.h"
#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

// The same work in two profiles: steps that compute the same operators of the network, whatever the passes
// made of them. Where a profile does not tell that, those of one type and name, the n-th of several equal
// ones with the n-th. One side may be missing.
struct Change {
    std::string name, type;
    size_t count_before = 0, count_after = 0;  // steps
    std::optional<double> time_before, time_after;
    double difference() const { return time_after.value_or(0) - time_before.value_or(0); }
    std::string algorithm_before, algorithm_after;
};

struct Comparison {
    double total_before = 0, total_after = 0;
    std::vector<Change> changes;  // the largest difference first
};

Comparison compare(const Profile& before, const Profile& after, const RowSelection& selection);
void print(std::ostream& stream, const Comparison& comparison);
cli::Json to_json(const Comparison& comparison);

}  // namespace mge::profile
