// SPDX-License-Identifier: Apache-2.0
// RFC 4180: fields with commas, quotes or line ends are quoted.

#include <cstdio>

#include "apps/cli/output/table.h"
#include "apps/profile/files.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"

namespace mge::profile {
namespace {

// Neutralises text that terminals and spreadsheets interpret: a cell that starts like a formula is prefixed
// by an apostrophe.
std::string field(const std::string& name) {
    std::string raw = printable(name);
    if (!raw.empty() && std::string_view("=+-@").find(raw[0]) != std::string_view::npos)
        raw.insert(0, 1, '\'');
    if (raw.find_first_of(",\"\r\n") == std::string::npos) return raw;
    std::string result = "\"";
    for (char c : raw) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + '"';
}

std::string number(std::optional<double> value) {
    char buffer[40];
    if (!value) return {};
    return {buffer, size_t(std::snprintf(buffer, sizeof buffer, "%.9g", *value))};
}

}  // namespace

void write_csv(std::ostream& stream, const Profile& profile, RunStatistic statistic) {
    stream
        << "index,id,name,type,algorithm,layout,time_s,share,host_time_s,operations,bytes,operations_per_s,"
           "bytes_per_s,workspace,inputs,outputs,sources\r\n";
    auto device = step_times(profile, ProfileSide::device, false, statistic);
    auto host = step_times(profile, ProfileSide::host, false, statistic);
    double total = total_time(profile, ProfileSide::device, statistic).value_or(0);
    for (size_t i = 0; i < profile.steps.size(); ++i) {
        auto& step = profile.steps[i];
        auto per_second = [&](std::optional<double> amount) {
            return number(amount && device[i] && *device[i] > 0 ? std::optional(*amount / *device[i])
                                                                : std::nullopt);
        };
        auto share = device[i] && total > 0 ? std::optional(*device[i] / total) : std::nullopt;
        const std::string fields[] = {std::to_string(i),
                                      step.id,
                                      step.name,
                                      step.type,
                                      step.algorithm,
                                      layout_of(profile, step),
                                      number(device[i]),
                                      number(share),
                                      number(host[i]),
                                      number(step.operations),
                                      number(step.bytes),
                                      per_second(step.operations),
                                      per_second(step.bytes),
                                      std::to_string(step.workspace),
                                      shapes_text(profile.input_shapes(step), " "),
                                      shapes_text(profile.output_shapes(step), " "),
                                      joined(step.sources, ";")};
        const char* separator = "";
        for (auto& f : fields) stream << std::exchange(separator, ",") << field(f);
        stream << "\r\n";
    }
}

}  // namespace mge::profile
