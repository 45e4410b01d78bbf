// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>

#include "apps/cli/tool.h"
#include "apps/profile/recording.h"
#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

// The same work in two profiles: steps with the same source operators, whatever the passes did. Without
// origins, steps of the same type and name match in order. One side may be missing.
struct Change {
    std::string name, type;
    size_t count_before = 0, count_after = 0;  // number of steps
    std::optional<double> time_before, time_after;
    double difference() const { return time_after.value_or(0) - time_before.value_or(0); }
    std::string algorithm_before, algorithm_after;
};

struct Comparison {
    double total_before = 0, total_after = 0;
    std::vector<Change> changes;  // largest difference first
    std::vector<Difference> recorded;
};

// Fraction of the larger network's operators that the other one has, too; of the types and names of steps if
// a profile does not know its network.
double common_part(const Profile& before, const Profile& after);
Comparison compare(const Profile& before, const Profile& after, const RowSelection& selection);
void print(std::ostream& stream, const Comparison& comparison);
cli::Json to_json(const Comparison& comparison);
// A self-contained page.
void write_comparison(std::ostream& stream, const Comparison& comparison, const Profile& before,
                      const Profile& after);

}  // namespace mge::profile
