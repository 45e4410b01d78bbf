// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/diff.h"

#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/table.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"

namespace mge::profile {
namespace {

// What makes an operator the same one in another profile.
std::string identity(const ProfileRow& row, bool by_type) {
    return by_type ? row.type : row.type + '\n' + row.name;
}

const std::string& algorithm_of(const Profile& profile, const ProfileRow& row) {
    static const std::string none;
    return row.step < 0 ? none : profile.steps[size_t(row.step)].algorithm;
}

std::string ratio_text(const Change& change) {
    if (!change.time_before || !change.time_after || !(*change.time_before > 0)) return not_known;
    return cli::format_number(*change.time_after / *change.time_before, 3);
}

std::string maybe_time(std::optional<double> time) { return time ? time_text(*time) : not_known; }

std::string signed_time(double difference) { return (difference < 0 ? "" : "+") + time_text(difference); }

}  // namespace

Comparison compare(const Profile& before, const Profile& after, const RowSelection& selection) {
    RowSelection everything = selection;
    everything.top = 0;
    everything.order_by = selection.aggregate == Aggregate::none ? "+index" : "time";
    Comparison result;
    std::map<std::string, std::deque<size_t>> unmatched;  // by identity: places in `changes`, first one first
    for (auto& row : select_rows(before, ProfileSide::device, everything)) {
        unmatched[identity(row, selection.by_type)].push_back(result.changes.size());
        result.total_before += row.time;
        result.changes.push_back(
            {row.step, -1, row.name, row.type, row.count, row.time, {}, algorithm_of(before, row), {}});
    }
    for (auto& row : select_rows(after, ProfileSide::device, everything)) {
        result.total_after += row.time;
        auto& places = unmatched[identity(row, selection.by_type)];
        size_t place = places.empty() ? result.changes.size() : places.front();
        if (places.empty())
            result.changes.push_back({-1, -1, row.name, row.type, row.count, {}, {}, {}, {}});
        else
            places.pop_front();
        auto& change = result.changes[place];
        change.after = row.step;
        change.time_after = row.time;
        change.algorithm_after = algorithm_of(after, row);
    }
    std::ranges::stable_sort(result.changes, std::greater(),
                             [](auto& c) { return std::abs(c.difference()); });
    if (selection.top && result.changes.size() > selection.top) result.changes.resize(selection.top);
    return result;
}

void print(std::ostream& stream, const Comparison& comparison) {
    std::vector<std::vector<std::string>> table{
        {"difference", "before", "after", "ratio", "name", "type", "count", "algorithm"}};
    for (auto& c : comparison.changes) {
        bool has_both = c.time_before && c.time_after;
        std::string algorithm = !has_both ? (c.time_before ? "only before" : "only after")
                                : c.algorithm_before == c.algorithm_after
                                    ? c.algorithm_after
                                    : c.algorithm_before + " -> " + c.algorithm_after;
        table.push_back({signed_time(c.difference()), maybe_time(c.time_before), maybe_time(c.time_after),
                         ratio_text(c), shortened(c.name), shortened(c.type), std::to_string(c.count),
                         shortened(algorithm)});
    }
    cli::print_table(stream, table, {"count", "ratio", "type", "before"});
    Change total;
    total.time_before = comparison.total_before;
    total.time_after = comparison.total_after;
    stream << "total: " << time_text(comparison.total_before) << " -> " << time_text(comparison.total_after)
           << " (" << signed_time(total.difference()) << ", ratio " << ratio_text(total) << ")\n";
}

cli::Json to_json(const Comparison& comparison) {
    auto or_null = [](std::optional<double> v) { return v ? cli::Json(*v) : cli::Json(nullptr); };
    cli::Json list = cli::Json::array();
    for (auto& c : comparison.changes)
        list.push_back({{"name", c.name},
                        {"type", c.type},
                        {"count", c.count},
                        {"before_s", or_null(c.time_before)},
                        {"after_s", or_null(c.time_after)},
                        {"difference_s", c.difference()},
                        {"algorithm_before", c.algorithm_before},
                        {"algorithm_after", c.algorithm_after}});
    return {{"total_before_s", comparison.total_before},
            {"total_after_s", comparison.total_after},
            {"changes", list}};
}

}  // namespace mge::profile
