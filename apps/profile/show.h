// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>

#include "apps/cli/tool.h"
#include "apps/profile/findings.h"
#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

struct ShowOptions {
    RowSelection selection;
    enum class Style { table, grid, confluence } style = Style::table;
    enum class Only { everything, summary, device, host } only = Only::everything;
    bool copy_time = false, show_host = false, names_only = false;
};

// The result of `show`, for text and report.
struct Shown {
    std::optional<double> device_total, host_total;
    std::vector<ProfileRow> device, host;
    std::vector<ProfileInnerStep> inside;  // in nested graphs, longest first
    std::vector<Finding> findings;         // regardless of the selection
    ShareBase base;                        // shares of device times are fractions of it
    // Seconds of whole runs; nullopt: the profile has none.
    struct Runs {
        double median = 0, p99 = 0, fastest = 0;
    };
    std::optional<Runs> runs;
};

Shown select(const Profile& profile, const ShowOptions& options);
void print(std::ostream& stream, const Profile& profile, const Shown& shown, const ShowOptions& options);
cli::Json to_json(const Profile& profile, const Shown& shown);

}  // namespace mge::profile
