// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/text.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/output/table.h"
#include "libmge/base/error.h"
#include "libmge/base/json_writer.h"

namespace mge::profile {

std::string shape_text(const Extents& extents) {
    std::string result = "{";
    for (size_t i = 0; i < extents.size(); ++i) result += (i ? "," : "") + std::to_string(extents[i]);
    return result + "}";
}

std::string shapes_text(const std::vector<Extents>& shapes, const char* separator) {
    std::string result;
    for (size_t i = 0; i < shapes.size(); ++i) result += (i ? separator : "") + shape_text(shapes[i]);
    return result;
}

std::string time_text(double seconds) {
    if (std::abs(seconds) < 1e-3) return cli::format_number(seconds * 1e6, 2) + " us";
    if (std::abs(seconds) < 1) return cli::format_number(seconds * 1e3, 3) + " ms";
    return cli::format_number(seconds, 3) + " s";
}

std::string scaled_text(std::optional<double> value, double base, const char* unit, int decimals) {
    if (!value) return not_known;
    bool is_binary = base == 1024;
    const char* const prefixes[] = {"", is_binary ? "K" : "k", "M", "G", "T", "P"};
    size_t prefix = 0;
    double scaled = *value;
    while (std::isfinite(scaled) && std::abs(scaled) >= base && prefix + 1 < std::size(prefixes))
        scaled /= base, ++prefix;
    return text(cli::format_number(scaled, decimals), ' ', prefixes[prefix], is_binary && prefix ? "i" : "",
                unit);
}

std::string percent_text(std::optional<double> share) {
    return share ? cli::format_number(100 * *share, 1) + "%" : not_known;
}

std::string shortened(const std::string& name) {
    constexpr size_t longest = 100;
    std::string result = printable(name.substr(0, 2 * longest));
    size_t end = std::min(longest, result.size());
    while (end < result.size() && (uint8_t(result[end]) & 0xC0) == 0x80) --end;
    return end < result.size() ? result.substr(0, end) + "..." : result;
}

std::string layout_of(const Profile& profile, const ProfileStep& step) {
    if (step.outputs.empty() || step.outputs[0] < 0) return {};
    auto& layout = profile.values[size_t(step.outputs[0])].layout;
    return layout == "plain" ? "" : layout;
}

std::string origin_text(const Profile& profile) {
    if (profile.format == Profile::Format::megengine)
        return "MegEngine's profile of " + cli::counted(profile.order.size(), "operator");
    size_t kept = profile.runs.size(),
           total = std::max(kept, size_t(std::max<int64_t>(profile.runs_total, 0)));
    std::string devices;
    for (auto& device : profile.devices)
        devices += text(devices.empty() ? ", on " : " and ", printable(device.model));
    return text(cli::counted(profile.steps.size(), "step"), ", ", kept < total ? text(kept, " of ") : "",
                cli::counted(total, "run"), devices, ", ", profile.cpu, ", ", profile.isa, ", ",
                cli::counted(size_t(profile.threads), "thread"));
}

}  // namespace mge::profile
