// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limits of the steps of a profile and advice, in words: for reports, tables and pages.

#include <ostream>
#include <string>
#include <string_view>

#include "apps/cli/tool.h"
#include "libmge/base/json_writer.h"
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
    std::string source;  // the source of its data: "memory", or the cache that is fast enough, "L2"
};

// `seconds` is the time of a run of the step.
StepLimit limit_of(const Profile& profile, const ProfileStep& step, double seconds);

struct Finding {
    int step = -1;  // the costliest one of several
    std::string title, reason, advice;
    std::string shapes = {};        // inputs and outputs: "{1,3,224,224} {64,3,7,7} -> {1,64,112,112}"
    double seconds = 0, share = 0;  // sums over all `count` steps
    size_t count = 1;
    Bound bound = Bound::unknown;
};

// The time that all shares are fractions of: the sum of the steps' times, so that shares add up to 100 %. A
// whole run may take longer, mostly on a busy machine.
struct ShareBase {
    double seconds = 0;
    std::string what;    // "the sum of the steps' median times"
    std::string remark;  // why whole runs took much longer; empty: they did not
    double share(double part) const { return seconds > 0 ? part / seconds : 0; }
};
ShareBase share_base(const Profile& profile, ProfileSide side, RunStatistic statistic);
// Returns "12.34 ms, the sum of the steps' median times".
std::string base_text(const ShareBase& base);
cli::Json to_json(const ShareBase& base);
// Writes the member "share_base" of a page's data.
void write(JsonWriter& json, const ShareBase& base);

// The three costliest steps, equal ones together, then what the whole profile shows. `times` are seconds by
// step, which `base` is the sum of.
std::vector<Finding> findings_of(const Profile& profile, const std::vector<std::optional<double>>& times,
                                 const ShareBase& base);
cli::Json to_json(const std::vector<Finding>& findings);
// Writes the member "findings" of a page's data.
void write(JsonWriter& json, const std::vector<Finding>& findings);
void print(std::ostream& stream, const std::vector<Finding>& findings, const ShareBase& base);

}  // namespace mge::profile
