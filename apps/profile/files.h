// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that `mge-profile export` writes.

#include <ostream>
#include <span>
#include <string_view>

#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

// Trace events as Chrome and Perfetto read them.
void write_chrome(std::ostream& stream, const Profile& profile);
// One line per step.
void write_csv(std::ostream& stream, const Profile& profile, RunStatistic statistic);
// One page that needs nothing else.
void write_html(std::ostream& stream, const Profile& profile, RunStatistic statistic);

struct ExportFormat {
    std::string_view name;
    const char* description;
    void (*write)(std::ostream&, const Profile&, RunStatistic);
};
std::span<const ExportFormat> export_formats();

}  // namespace mge::profile
