// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/diff.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/output/table.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/graph/origins.h"

namespace mge::profile {
namespace {

// The key that identifies an operator in another profile.
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

// Returns "4 -> 1" steps, or one number if both are equal.
std::string count_text(const Change& c) {
    if (c.count_before == c.count_after || !c.time_before || !c.time_after)
        return std::to_string(std::max(c.count_before, c.count_after));
    return text(c.count_before, " -> ", c.count_after);
}

std::string signed_time(double difference) { return (difference < 0 ? "" : "+") + time_text(difference); }

// Union-find over rows that share operators of the network.
class Groups {
public:
    size_t find(size_t i) {
        while (parent_.at(i) != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(size_t a, size_t b) { parent_[find(b)] = find(a); }
    size_t add() {
        parent_.push_back(parent_.size());
        return parent_.size() - 1;
    }

private:
    std::vector<size_t> parent_;
};

struct Row {
    const Profile* profile;
    ProfileRow row;
    bool is_after;
};

// Returns the group of each row; corresponding rows are in one group. If both profiles have origins, rows
// with common operators form a group, such as a fused kernel and its parts. Other rows match one by one by
// name and type, in order.
std::vector<size_t> group_rows(const std::vector<Row>& rows, const Profile& before, const Profile& after,
                               const RowSelection& selection) {
    bool by_origin =
        selection.aggregate == Aggregate::none && !before.operators.empty() && !after.operators.empty();
    auto numbers = by_origin ? match_sources(after.operators, before.operators) : std::vector<NodeId>();
    bool is_same_network = before.operators.size() == after.operators.size() &&
                           std::ranges::none_of(numbers, [](NodeId id) { return id < 0; });
    Groups groups;
    std::map<std::pair<bool, NodeId>, size_t> of_operator;  // {only the second has it, number}
    std::map<std::string, std::deque<size_t>> unmatched;    // by identity, from the first profile
    std::vector<size_t> result;
    for (auto& [profile, row, is_after] : rows) {
        size_t group = result.emplace_back(groups.add());
        auto* origins = by_origin && row.step >= 0 ? &profile->steps[size_t(row.step)].origins : nullptr;
        if (origins && !origins->empty()) {
            for (NodeId origin : *origins) {
                NodeId number = is_after ? numbers[size_t(origin)] : origin;
                auto key = number < 0 ? std::pair(true, origin) : std::pair(false, number);
                groups.join(of_operator.try_emplace(key, group).first->second, group);
            }
            continue;
        }
        // Names of operators that passes created depend on operator numbers.
        if (by_origin && !is_same_network) continue;
        auto& places = unmatched[identity(row, selection.by_type)];
        if (!is_after) {
            places.push_back(group);
        } else if (!places.empty()) {
            groups.join(places.front(), group);
            places.pop_front();
        }
    }
    for (auto& group : result) group = groups.find(group);
    return result;
}

void add_part(std::string& all, const std::string& part) {
    if (part.empty()) return;
    all += (all.empty() ? "" : "+") + part;
}

void add(Change& change, const Row& row) {
    auto& [profile, r, is_after] = row;
    auto& time = is_after ? change.time_after : change.time_before;
    time = time.value_or(0) + r.time;
    add_part(is_after ? change.algorithm_after : change.algorithm_before, algorithm_of(*profile, r));
    (is_after ? change.count_after : change.count_before) += r.count;
    // Use the names of the first profile.
    if (is_after && change.time_before) return;
    add_part(change.name, r.name);
    add_part(change.type, r.type);
}

}  // namespace

double common_part(const Profile& before, const Profile& after) {
    size_t common = 0, largest = 0;
    if (!before.operators.empty() && !after.operators.empty()) {
        auto numbers = match_sources(after.operators, before.operators);
        common = size_t(std::ranges::count_if(numbers, [](NodeId id) { return id >= 0; }));
        largest = std::max(before.operators.size(), after.operators.size());
    } else {
        std::multiset<std::string> names;
        for (auto& step : before.steps) names.insert(step.type + '\n' + step.name);
        for (auto& step : after.steps)
            if (auto found = names.find(step.type + '\n' + step.name); found != names.end()) {
                names.erase(found);
                ++common;
            }
        largest = std::max(before.steps.size(), after.steps.size());
    }
    return largest ? double(common) / double(largest) : 1;
}

Comparison compare(const Profile& before, const Profile& after, const RowSelection& selection) {
    RowSelection everything = selection;
    everything.top = 0;
    everything.order_by = selection.aggregate == Aggregate::none ? "+index" : "time";
    Comparison result;
    result.recorded = recording_differences(before, after);
    std::vector<Row> rows;
    for (bool is_after : {false, true}) {
        auto& profile = is_after ? after : before;
        for (auto& row : select_rows(profile, ProfileSide::device, everything)) {
            (is_after ? result.total_after : result.total_before) += row.time;
            rows.push_back({&profile, std::move(row), is_after});
        }
    }
    auto groups = group_rows(rows, before, after, selection);
    std::map<size_t, size_t> place_of;  // position of each group in `changes`
    for (size_t i = 0; i < rows.size(); ++i) {
        auto [place, is_new] = place_of.try_emplace(groups[i], result.changes.size());
        if (is_new) result.changes.emplace_back();
        add(result.changes[place->second], rows[i]);
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
                         ratio_text(c), shortened(c.name), shortened(c.type), count_text(c),
                         shortened(algorithm)});
    }
    cli::print_table(stream, table, {"count", "ratio", "type", "before"});
    Change total;
    total.time_before = comparison.total_before;
    total.time_after = comparison.total_after;
    stream << "total: " << time_text(comparison.total_before) << " -> " << time_text(comparison.total_after)
           << " (" << signed_time(total.difference()) << ", ratio " << ratio_text(total) << ")\n";
    if (comparison.recorded.empty()) return;
    stream << "\nrecorded differently\n";
    std::vector<std::vector<std::string>> recorded{{"", "before", "after"}};
    for (auto& d : comparison.recorded)
        recorded.push_back({shortened(d.name), d.before.empty() ? not_known : shortened(d.before),
                            d.after.empty() ? not_known : shortened(d.after)});
    cli::print_table(stream, recorded);
}

cli::Json to_json(const Comparison& comparison) {
    auto or_null = [](std::optional<double> v) { return v ? cli::Json(*v) : cli::Json(nullptr); };
    cli::Json list = cli::Json::array();
    for (auto& c : comparison.changes)
        list.push_back({{"name", c.name},
                        {"type", c.type},
                        {"count", std::max(c.count_before, c.count_after)},
                        {"count_before", c.count_before},
                        {"count_after", c.count_after},
                        {"before_s", or_null(c.time_before)},
                        {"after_s", or_null(c.time_after)},
                        {"difference_s", c.difference()},
                        {"algorithm_before", c.algorithm_before},
                        {"algorithm_after", c.algorithm_after}});
    cli::Json recorded = cli::Json::array();
    for (auto& d : comparison.recorded)
        recorded.push_back({{"name", d.name}, {"before", d.before}, {"after", d.after}});
    return {{"total_before_s", comparison.total_before},
            {"total_after_s", comparison.total_after},
            {"recorded_differently", recorded},
            {"changes", list}};
}

}  // namespace mge::profile
