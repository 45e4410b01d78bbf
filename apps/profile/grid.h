// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables identical to those of MegEngine's profile_analyze: `show --style grid`, for scripts and users that
// expect them.

#include <ostream>

#include "libmge/inspect/profile/profile_rows.h"

namespace mge::profile {

struct NamedNumber {
    std::string name, value;
};

void print_grid_summary(std::ostream& stream, const std::vector<NamedNumber>& rows);
void print_grid(std::ostream& stream, const Profile& profile, ProfileSide side,
                const std::vector<ProfileRow>& rows, double total);
// Equals Python's format(value, ".3").
std::string three_digits(double value);

}  // namespace mge::profile
