// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output formats of `mge-profile export`.

#include <ostream>
#include <span>
#include <string_view>

#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

// Trace events for Chrome and Perfetto.
void write_chrome(std::ostream& stream, const Profile& profile);
// One line per step.
void write_csv(std::ostream& stream, const Profile& profile, RunStatistic statistic);
// A self-contained page.
void write_html(std::ostream& stream, const Profile& profile, RunStatistic statistic);

struct ExportFormat {
    std::string_view name;
    const char* description;
    void (*write)(std::ostream&, const Profile&, RunStatistic);
};
std::span<const ExportFormat> export_formats();

}  // namespace mge::profile
