// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limits of the steps of a profile and advice, in words: for reports, tables and pages.

#include <ostream>
#include <string>
#include <string_view>

#include "apps/cli/tool.h"
#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

enum class Bound : uint8_t { arithmetic, memory, cache, overhead, kernel, unknown };
// Returns "arithmetic", "memory bandwidth", "cache bandwidth", "overhead", "kernel efficiency", "unknown".
std::string_view bound_name(Bound bound);

// The operations that the step's algorithm does. Winograd's needs fewer multiplications than a direct
// convolution, by whose rule operations are counted.
std::optional<double> real_operations(const ProfileStep& step);

struct StepLimit {
    Bound bound = Bound::unknown;
    std::optional<double> of_roof;  // fraction of what the machine allows
    std::string reason, advice;     // a sentence each; empty: unknown
};

// `seconds` is the time of a run of the step.
StepLimit limit_of(const Profile& profile, const ProfileStep& step, double seconds);

struct Finding {
    int step = -1;  // the costliest one of equal steps; -1: about the whole profile
    std::string title, reason, advice;
    double seconds = 0, share = 0;  // sums over all `count` steps
    size_t count = 1;
    Bound bound = Bound::unknown;
};

// The three costliest steps, equal ones together, then what the whole profile shows. `times` are seconds by
// step.
std::vector<Finding> findings_of(const Profile& profile, const std::vector<std::optional<double>>& times);
cli::Json to_json(const std::vector<Finding>& findings);
void print(std::ostream& stream, const std::vector<Finding>& findings);

}  // namespace mge::profile
