// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of a profile: one row per operator, or per type of operator, filtered and sorted as MegEngine's
// profile_analyze does it.

#include <limits>

#include "libmge/inspect/profile/profile.h"

namespace mge {

enum class Aggregate : uint8_t { none, max, min, sum, mean };
// How to combine the times of a step in several runs.
enum class RunStatistic : uint8_t { median, mean, min, max, last };

struct RowSelection {
    std::vector<std::string> types;           // any of them; empty: all
    std::optional<std::string> name_pattern;  // ECMAScript; has to match from the name's start
    std::optional<std::string> input_dtype;
    bool until_kernel = false;  // time until the work begins instead of until it ends
    double min_time = -std::numeric_limits<double>::infinity();
    double max_time = std::numeric_limits<double>::infinity();
    Aggregate aggregate = Aggregate::none;
    bool by_type = false;           // aggregate each type alone instead of everything
    std::string order_by = "time";  // a column; "+column" is ascending
    size_t top = 0;                 // so many rows; 0: all
    RunStatistic statistic = RunStatistic::median;
};

struct ProfileRow {
    int step = -1;  // index; -1: several
    std::string name, type, id;
    size_t count = 1;
    double time = 0;                          // seconds
    std::optional<double> operations, bytes;  // nullopt: unknown, or no computation
    std::optional<double> operations_per_s() const { return rate(operations); }
    std::optional<double> bytes_per_s() const { return rate(bytes); }

private:
    std::optional<double> rate(std::optional<double> amount) const {
        return amount ? std::optional(*amount / time) : std::nullopt;
    }
};

// The columns that rows can be sorted by.
MGE_API std::span<const std::string_view> row_columns();

// UserError for an invalid column or pattern.
MGE_API std::vector<ProfileRow> select_rows(const Profile& profile, ProfileSide side,
                                            const RowSelection& selection);

// Seconds of each step, by index: until its end or until its kernel began; the longest of its tracks.
// Nullopt: the step was not measured there.
MGE_API std::vector<std::optional<double>> step_times(const Profile& profile, ProfileSide side,
                                                      bool until_kernel, RunStatistic statistic);
// The sum over all steps; nullopt without measurements.
MGE_API std::optional<double> total_time(const Profile& profile, ProfileSide side, RunStatistic statistic);

}  // namespace mge
