// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output formats of `mge-profile export`.

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

// Trace events for Chrome and Perfetto.
void write_chrome(std::ostream& stream, const Profile& profile);
// One line per step.
void write_csv(std::ostream& stream, const Profile& profile, RunStatistic statistic);
struct HtmlOptions {
    RunStatistic statistic = RunStatistic::median;
    std::string graph_page;  // address of the page of mge-dump graph --html; empty: no links
};
// A self-contained page.
void write_html(std::ostream& stream, const Profile& profile, const HtmlOptions& options);

struct ExportFormat {
    std::string_view name;
    const char* description;
    void (*write)(std::ostream&, const Profile&, const HtmlOptions&);
};
std::span<const ExportFormat> export_formats();

}  // namespace mge::profile
