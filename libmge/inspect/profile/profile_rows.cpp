// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/profile_rows.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <unordered_map>

#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/base/pattern.h"

namespace mge {
namespace {

using Times = std::vector<std::optional<double>>;

double statistic_of(std::vector<int64_t>& ns, RunStatistic statistic) {
    constexpr double second = 1e-9;
    double sum = 0;
    switch (statistic) {
        case RunStatistic::last:
            return double(ns.back()) * second;
        case RunStatistic::min:
            return double(std::ranges::min(ns)) * second;
        case RunStatistic::max:
            return double(std::ranges::max(ns)) * second;
        case RunStatistic::mean:
            for (int64_t t : ns) sum += double(t);
            return sum / double(ns.size()) * second;
        case RunStatistic::median:
            break;
    }
    size_t half = ns.size() / 2;
    std::ranges::nth_element(ns, ns.begin() + ptrdiff_t(half));
    double upper = double(ns[half]);
    if (ns.size() % 2) return upper * second;
    return (upper + double(*std::max_element(ns.begin(), ns.begin() + ptrdiff_t(half)))) / 2 * second;
}

// A device's span is the kernel; a host's reaches from the end of the step before to the end of this one.
int64_t run_time(const ProfileRun& run, size_t step, ProfileSide side, bool until_kernel) {
    if (side == ProfileSide::device) return until_kernel ? 0 : run.ends[step] - run.begin(step);
    return (until_kernel ? run.host_begin(step) : run.host_end(step)) - run.dispatched(step);
}

Times times_of_runs(const Profile& profile, ProfileSide side, bool until_kernel, RunStatistic statistic) {
    Times times(profile.steps.size());
    if (!profile.has_side(side)) return times;
    std::vector<int64_t> ns;
    for (size_t step = 0; step < times.size(); ++step) {
        ns.clear();
        for (auto& run : profile.runs)
            if (side == ProfileSide::device || run.has_host())
                ns.push_back(run_time(run, step, side, until_kernel));
        if (!ns.empty()) times[step] = statistic_of(ns, statistic);
    }
    return times;
}

Times times_of_events(const Profile& profile, ProfileSide side, bool until_kernel) {
    Times times(profile.steps.size());
    for (auto& event : profile.events) {
        if (profile.tracks[size_t(event.track)].side != side) continue;
        double t = (until_kernel ? event.span.kern : event.span.end) - event.span.start;
        auto& longest = times[size_t(event.step)];
        longest = longest ? std::max(*longest, t) : t;
    }
    return times;
}

// Decides which steps a selection keeps.
class StepFilter {
public:
    StepFilter(const Profile& profile, const RowSelection& selection)
        : profile_(profile), selection_(selection) {
        if (!selection.name_pattern) return;
        try {
            pattern_ = std::regex(*selection.name_pattern);
        } catch (const std::regex_error& e) {
            throw UserError(text("'", *selection.name_pattern, "' is not a regular expression: ", e.what()));
        }
    }

    bool keeps(const ProfileStep& step, double time) const {
        if (time < selection_.min_time || time > selection_.max_time) return false;
        if (!selection_.types.empty() &&
            std::ranges::find(selection_.types, step.type) == selection_.types.end())
            return false;
        if (selection_.input_dtype && std::ranges::none_of(step.inputs, [&](int id) {
                return id >= 0 && profile_.values[size_t(id)].dtype == *selection_.input_dtype;
            }))
            return false;
        return !selection_.name_pattern || matches(step.name);
    }

private:
    bool matches(const std::string& name) const {
        return is_found(pattern_, name, std::regex_constants::match_continuous);
    }

    const Profile& profile_;
    const RowSelection& selection_;
    std::regex pattern_;
};

std::optional<double> combine(const std::vector<ProfileRow*>& rows, Aggregate how,
                              std::optional<double> (*get)(const ProfileRow&)) {
    std::optional<double> result;
    for (auto* row : rows) {
        auto value = get(*row);
        if (!value) continue;
        if (!result)
            result = value;
        else if (how == Aggregate::max)
            result = std::max(*result, *value);
        else if (how == Aggregate::min)
            result = std::min(*result, *value);
        else
            *result += *value;
    }
    if (result && how == Aggregate::mean) *result /= double(rows.size());
    return result;
}

std::vector<ProfileRow> aggregate(std::vector<ProfileRow>& rows, const RowSelection& selection) {
    std::vector<std::vector<ProfileRow*>> groups;
    std::unordered_map<std::string_view, size_t> group_of;
    for (auto& row : rows) {
        std::string_view group = "all";
        if (selection.by_type) group = row.type;
        auto [found, is_new] = group_of.emplace(group, groups.size());
        if (is_new) groups.emplace_back();
        groups[found->second].push_back(&row);
    }
    std::vector<ProfileRow> result;
    for (auto& group : groups) {
        auto of_group = [&](auto get) { return combine(group, selection.aggregate, get); };
        ProfileRow row;
        row.type = selection.by_type ? group[0]->type : "all";
        row.id = "N/A";
        row.count = group.size();
        row.time = *of_group([](const ProfileRow& r) { return std::optional(r.time); });
        row.operations = of_group([](const ProfileRow& r) { return r.operations; });
        row.bytes = of_group([](const ProfileRow& r) { return r.bytes; });
        result.push_back(std::move(row));
    }
    return result;
}

using Number = std::optional<double> (*)(const ProfileRow&);
using Words = const std::string& (*)(const ProfileRow&);
struct Column {
    std::string_view name;
    Number number = nullptr;
    Words words = nullptr;
};
constexpr Column columns[] = {
    {"time", [](const ProfileRow& r) { return std::optional(r.time); }},
    {"computation", [](const ProfileRow& r) { return r.operations; }},
    {"memory", [](const ProfileRow& r) { return r.bytes; }},
    {"flops", [](const ProfileRow& r) { return r.operations_per_s(); }},
    {"bandwidth", [](const ProfileRow& r) { return r.bytes_per_s(); }},
    {"count", [](const ProfileRow& r) { return std::optional(double(r.count)); }},
    {"index", [](const ProfileRow& r) { return std::optional(double(r.step)); }},
    {"name", nullptr, [](const ProfileRow& r) -> const std::string& { return r.name; }},
    {"type", nullptr, [](const ProfileRow& r) -> const std::string& { return r.type; }},
};

const Column& column_named(std::string_view name) {
    auto found = std::ranges::find(columns, name, &Column::name);
    if (found != std::end(columns)) return *found;
    throw UserError(text("there is no column '", name, "' to order by; there are ",
                         joined(columns, ", ", &Column::name)));
}

// Unknown values are last in both directions.
void sort_rows(std::vector<ProfileRow>& rows, std::string_view order_by) {
    bool ascending = order_by.starts_with('+');
    auto& column = column_named(order_by.substr(ascending));
    std::ranges::stable_sort(rows, [&](const ProfileRow& a, const ProfileRow& b) {
        if (column.words)
            return ascending ? column.words(a) < column.words(b) : column.words(a) > column.words(b);
        auto x = column.number(a), y = column.number(b);
        bool has_x = x && !std::isnan(*x), has_y = y && !std::isnan(*y);
        if (!has_x || !has_y) return has_x && !has_y;
        return ascending ? *x < *y : *x > *y;
    });
}

}  // namespace

std::span<const std::string_view> row_columns() {
    static const auto names = [] {
        std::array<std::string_view, std::size(columns)> all;
        std::ranges::transform(columns, all.begin(), &Column::name);
        return all;
    }();
    return names;
}

Times step_times(const Profile& profile, ProfileSide side, bool until_kernel, RunStatistic statistic) {
    return profile.format == Profile::Format::mge ? times_of_runs(profile, side, until_kernel, statistic)
                                                  : times_of_events(profile, side, until_kernel);
}

std::optional<double> total_time(const Profile& profile, ProfileSide side, RunStatistic statistic) {
    std::optional<double> sum;
    for (auto& time : step_times(profile, side, false, statistic))
        if (time) sum = sum.value_or(0) + *time;
    return sum;
}

std::vector<ProfileRow> select_rows(const Profile& profile, ProfileSide side, const RowSelection& selection) {
    Times times = step_times(profile, side, selection.until_kernel, selection.statistic);
    StepFilter filter(profile, selection);
    auto known = [](std::optional<double> amount) { return amount && *amount != 0 ? amount : std::nullopt; };
    std::vector<ProfileRow> rows;
    for (size_t i = 0; i < profile.steps.size(); ++i) {
        auto& step = profile.steps[i];
        if (!times[i] || !filter.keeps(step, *times[i])) continue;
        rows.push_back(
            {int(i), step.name, step.type, step.id, 1, *times[i], known(step.operations), step.bytes});
    }
    if (selection.aggregate != Aggregate::none) rows = aggregate(rows, selection);
    sort_rows(rows, selection.order_by);
    if (selection.top && rows.size() > selection.top) rows.resize(selection.top);
    return rows;
}

}  // namespace mge
