// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the writer and readers of profiles, only for this folder.

#include <string>
#include <string_view>

#include "libmge/inspect/json_document.h"
#include "libmge/inspect/profile/profile.h"

namespace mge {

inline constexpr int64_t profile_schema_version = 1;
inline constexpr std::string_view profile_format = "mge-profile";
// A day; larger times are considered damaged, and sums of valid times stay exact.
inline constexpr int64_t longest_ns = int64_t(24) * 3600 * 1000 * 1000 * 1000;

// Limits the memory of a parsed profile: a small file cannot request a large amount.
class ReadingBudget {
public:
    explicit ReadingBudget(const std::string& label) : label_(label) {}
    void spend(size_t bytes);  // ModelError if the budget is exceeded

private:
    std::string label_;
    size_t left_ = size_t(384) << 20;
};

std::string read_text(JsonValue value, const char* what, ReadingBudget& budget);
Extents read_extents(JsonValue value, const char* what, ReadingBudget& budget);

Profile read_megengine_profile(const JsonDocument& document);

}  // namespace mge
