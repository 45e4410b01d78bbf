// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats of numbers and shapes in tables and files of this tool.

#include <optional>
#include <string>
#include <vector>

#include "libmge/base/utf8.h"  // printable
#include "libmge/inspect/profile/profile.h"

namespace mge::profile {

// Returns "{4,12}", separated if there are several.
std::string shape_text(const Extents& extents);
std::string shapes_text(const std::vector<Extents>& shapes, const char* separator);
std::string time_text(double seconds);  // 12.34 µs, 1.234 ms, 1.234 s
// Scales by 1000 (operations: kFLOP, GFLOP/s) or 1024 (bytes: KiB, GiB/s).
std::string scaled_text(std::optional<double> value, double base, const char* unit, int decimals = 2);
std::string percent_text(std::optional<double> share);
// Returns an untrusted name printable and shortened for tables.
std::string shortened(const std::string& name);
// Returns the layout of a step's first result; empty if it is plain.
std::string layout_of(const Profile& profile, const ProfileStep& step);
// Returns "12 steps, AMD EPYC …, avx512, 2 threads".
std::string origin_text(const Profile& profile);

inline constexpr const char* not_known = "-";

}  // namespace mge::profile
