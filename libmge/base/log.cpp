// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/log.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>

#include "libmge/base/env.h"
#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr std::array<std::string_view, 5> channel_names{"dispatch", "passes", "memory", "fastrun", "program"};

std::array<bool, channel_names.size()> read_channels() {
    std::array<bool, channel_names.size()> on{};
    auto value = env_string("MGE_LOG");
    if (!value) return on;
    std::string list = *value + ",";
    for (size_t at = 0, comma; (comma = list.find(',', at)) != std::string::npos; at = comma + 1) {
        std::string_view word(list.data() + at, comma - at);
        bool known = word.empty() || word == "all";
        for (size_t i = 0; i < channel_names.size(); ++i)
            if (word == "all" || word == channel_names[i]) on[i] = known = true;
        if (!known) std::fprintf(stderr, "mge: MGE_LOG: no channel '%.*s'\n", int(word.size()), word.data());
    }
    return on;
}

}  // namespace

bool log_enabled(LogChannel channel) {
    static const auto on = read_channels();
    return on[size_t(channel)];
}

void log_line(LogChannel channel, const std::string& line) {
    if (!log_enabled(channel)) return;
    std::fprintf(stderr, "[%s] %s\n", channel_names[size_t(channel)].data(), line.c_str());
}

void log_warning(const std::string& line) {
    static std::mutex mutex;
    static std::set<std::string> seen;
    std::lock_guard lock(mutex);
    if (seen.insert(line).second) std::fprintf(stderr, "mge: warning: %s\n", line.c_str());
}

}  // namespace mge
