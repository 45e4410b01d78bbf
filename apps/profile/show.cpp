// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/show.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/profile/grid.h"
#include "apps/profile/recording.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"

namespace mge::profile {
namespace {

using Only = ShowOptions::Only;
using Style = ShowOptions::Style;
using Table = std::vector<std::vector<std::string>>;

const char* name_of(ProfileSide side) { return side == ProfileSide::device ? "device" : "host"; }

// Returns the limit by arithmetic; the highest one of its steps for a row of several.
double most_operations_per_s(const Profile& profile, const Peak& peak, const ProfileRow& row) {
    if (row.step >= 0) return profile.most_operations_per_s(peak, profile.steps[size_t(row.step)]);
    auto& steps = profile.steps;
    const bool is_type = std::ranges::find(steps, row.type, &ProfileStep::type) != steps.end();
    double most = 0;
    for (auto& step : steps)
        if (!is_type || step.type == row.type)
            most = std::max(most, profile.most_operations_per_s(peak, step));
    return most;
}

// Returns the fraction of the roofline: the lower of the limits by arithmetic and by what the data came from.
std::optional<double> share_of_roof(const Profile& profile, const ProfileRow& row) {
    auto* peak = profile.roof();
    if (!peak || !row.operations || !row.bytes || !(*row.bytes > 0) || !(row.time > 0)) return {};
    bool is_elsewhere =
        row.step >= 0 && !profile.devices.empty() && profile.is_on_host(profile.steps[size_t(row.step)]);
    if (is_elsewhere) return {};
    // Winograd's algorithm does less work than is counted.
    double operations = row.step >= 0 ? *real_operations(profile.steps[size_t(row.step)]) : *row.operations;
    double bandwidth = peak->source_of(*row.bytes / row.time).bytes_per_s;
    double roof = std::min(most_operations_per_s(profile, *peak, row), operations / *row.bytes * bandwidth);
    return operations / row.time / roof;
}

struct Times {
    std::optional<double> sum;
    size_t count = 0;
    std::string text() const {
        if (!sum) return "N/A";
        return "tot=" + cli::format_number(*sum, 4) + " avg=" + cli::format_number(*sum / double(count), 4);
    }
};

// Returns the times of operators that copy between devices.
Times copy_times(const Profile& profile, const RowSelection& selection, bool until_kernel) {
    RowSelection copies;
    copies.types = {"Copy"};
    copies.name_pattern = selection.name_pattern;
    copies.input_dtype = selection.input_dtype;
    copies.until_kernel = until_kernel;
    Times times;
    auto& wanted = selection.types;
    if (!wanted.empty() && std::ranges::find(wanted, "Copy") == wanted.end()) return times;
    for (auto& row : select_rows(profile, ProfileSide::device, copies)) {
        times.sum = times.sum.value_or(0) + row.time;
        ++times.count;
    }
    return times;
}

std::vector<NamedNumber> summary_rows(const Profile& profile, const Shown& shown,
                                      const ShowOptions& options) {
    auto number = [](std::optional<double> seconds) {
        char buffer[40];
        if (!seconds) return std::string("N/A");
        return std::string(buffer, size_t(std::snprintf(buffer, sizeof buffer, "%g", *seconds)));
    };
    std::vector<NamedNumber> rows{{"total device time", number(shown.device_total)},
                                  {"total host time", number(shown.host_total)}};
    if (options.copy_time) {
        rows.push_back({"copy time", copy_times(profile, options.selection, false).text()});
        rows.push_back({"copy wait time", copy_times(profile, options.selection, true).text()});
    }
    return rows;
}

// Returns " from memory, 60 GiB/s from L3, 200 GiB/s from L2".
std::string caches_text(const Peak& peak) {
    std::string result = peak.caches.empty() ? "" : " from memory";
    for (auto& cache : peak.caches)
        result += text(", ", scaled_text(cache.bytes_per_s, 1024, "B/s"), " from ", printable(cache.name));
    return result;
}

void print_summary(std::ostream& stream, const Profile& profile, const Shown& shown,
                   const ShowOptions& options) {
    auto rows = summary_rows(profile, shown, options);
    if (options.style == Style::grid) return print_grid_summary(stream, rows);
    if (options.style == Style::confluence) {
        for (auto& row : rows) stream << "| " << row.name << " | " << row.value << " |\n";
        return;
    }
    stream << origin_text(profile) << '\n';
    print_recording(stream, profile);
    if (shown.runs)
        stream << "runs: p50 " << time_text(shown.runs->median) << ", p99 " << time_text(shown.runs->p99)
               << ", fastest " << time_text(shown.runs->fastest) << '\n';
    for (auto& row : rows)
        stream << row.name << ": " << row.value << (row.value == "N/A" ? "" : " s") << '\n';
    if (auto* peak = profile.roof())
        stream << "measured peak: " << scaled_text(peak->operations_per_s, 1000, "FLOP/s")
               << (peak->arithmetic.empty() ? "" : " in " + printable(peak->arithmetic)) << ", "
               << (peak->byte_operations_per_s > 0
                       ? scaled_text(peak->byte_operations_per_s, 1000, "OP/s") + " of bytes, "
                       : "")
               << scaled_text(peak->bytes_per_s, 1024, "B/s") << caches_text(*peak)
               << (peak->is_busy ? " (on a busy machine; it may be higher)" : "") << '\n';
}

// The optional columns that are not empty.
struct Filled {
    bool algorithm = false, layout = false, sources = false, roof = false, bound = false;
    Filled(const Profile& profile, const std::vector<ProfileRow>& rows) {
        for (auto& row : rows) {
            roof |= share_of_roof(profile, row).has_value();
            if (row.step < 0) continue;
            auto& step = profile.steps[size_t(row.step)];
            bound |= limit_of(profile, step, row.time).bound != Bound::unknown;
            algorithm |= !step.algorithm.empty();
            layout |= !layout_of(profile, step).empty();
            sources |= step.sources.size() > 1 || (step.sources.size() == 1 && step.sources[0] != step.name);
        }
    }
};

Table table_of(const Profile& profile, const std::vector<ProfileRow>& rows, double total, bool is_aggregate) {
    Filled has(profile, rows);
    Table table{{"#", "time", "share", "cumulative"}};
    auto& head = table[0];
    if (is_aggregate)
        head.insert(head.end(), {"type", "count"});
    else
        head.insert(head.end(), {"name", "type", "id"});
    head.insert(head.end(), {"work", "FLOP/s", "memory", "bandwidth"});
    if (has.roof) head.push_back("of roof");
    if (has.bound) head.push_back("bound by");
    if (has.algorithm) head.push_back("algorithm");
    if (has.layout) head.push_back("layout");
    if (!is_aggregate) head.insert(head.end(), {"inputs", "outputs"});
    if (has.sources) head.push_back("computes");

    double cumulative = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        auto& row = rows[i];
        auto share = [&](double time) { return total > 0 ? std::optional(time / total) : std::nullopt; };
        cumulative += row.time;
        std::vector<std::string> cells{std::to_string(i), time_text(row.time), percent_text(share(row.time)),
                                       percent_text(share(cumulative))};
        if (is_aggregate)
            cells.insert(cells.end(), {shortened(row.type), std::to_string(row.count)});
        else
            cells.insert(cells.end(), {shortened(row.name), shortened(row.type), shortened(row.id)});
        cells.insert(
            cells.end(),
            {scaled_text(row.operations, 1000, "FLOP"), scaled_text(row.operations_per_s(), 1000, "FLOP/s"),
             scaled_text(row.bytes, 1024, "B"), scaled_text(row.bytes_per_s(), 1024, "B/s")});
        if (has.roof) cells.push_back(percent_text(share_of_roof(profile, row)));
        if (has.bound) {
            auto& step = profile.steps[size_t(row.step)];
            cells.emplace_back(bound_name(limit_of(profile, step, row.time).bound));
        }
        if (!is_aggregate) {
            auto& step = profile.steps[size_t(row.step)];
            if (has.algorithm) cells.push_back(shortened(step.algorithm));
            if (has.layout) cells.push_back(shortened(layout_of(profile, step)));
            cells.insert(cells.end(), {shortened(shapes_text(profile.input_shapes(step), " ")),
                                       shortened(shapes_text(profile.output_shapes(step), " "))});
            if (has.sources) cells.push_back(shortened(joined(step.sources, ", ")));
        }
        table.push_back(std::move(cells));
    }
    return table;
}

void print_confluence(std::ostream& stream, const Table& table) {
    for (size_t i = 0; i < table.size(); ++i) {
        for (auto& cell : table[i]) stream << (i ? "| " : "|| ") << cell << ' ';
        stream << (i ? "|\n" : "||\n");
    }
}

void print_rows(std::ostream& stream, const Profile& profile, const std::vector<ProfileRow>& rows,
                const Table& table) {
    cli::print_table(stream, table,
                     {"computes", "inputs", "layout", "id", "cumulative", "bandwidth", "memory", "outputs",
                      "algorithm", "work", "of roof", "#", "FLOP/s", "bound by"});
    bool is_above =
        std::ranges::any_of(rows, [&](auto& row) { return share_of_roof(profile, row).value_or(0) > 1; });
    if (is_above)
        stream << "above 100% of roof: data lay in "
               << (profile.roof()->caches.empty() ? "caches" : "registers")
               << ", or the algorithm needs fewer operations than are counted, or multiplies shorter numbers "
                  "than its input's\n";
}

void print_side(std::ostream& stream, const Profile& profile, ProfileSide side,
                const std::vector<ProfileRow>& rows, std::optional<double> total,
                const ShowOptions& options) {
    if (options.names_only) {
        if (rows.empty()) stream << '\n';
        for (auto& row : rows) {
            if (row.step >= 0)
                stream << printable(row.name) << ' ' << printable(row.type) << ' ' << printable(row.id)
                       << '\n';
            else
                stream << printable(row.type) << ' ' << row.count << ' ' << row.id << '\n';
        }
        return;
    }
    if (options.style == Style::grid) return print_grid(stream, profile, side, rows, total.value_or(0));
    auto table = table_of(profile, rows, total.value_or(0), options.selection.aggregate != Aggregate::none);
    if (options.style == Style::confluence) return print_confluence(stream, table);
    stream << name_of(side) << " time\n";
    if (rows.empty() && !profile.has_side(side))
        stream << (side == ProfileSide::host ? "not recorded; load_and_run --profile-host FILE records it\n"
                                             : "not recorded\n");
    else if (rows.empty())
        stream << "no operator is selected\n";
    else
        print_rows(stream, profile, rows, table);
}

// Returns nanoseconds per run of the program.
double time_per_run(const Profile& profile, const ProfileInnerStep& step) {
    return double(step.total) / double(std::max<int64_t>(1, profile.runs_total));
}

void print_inside(std::ostream& stream, const Profile& profile, const Shown& shown) {
    Table table{{"time", "share", "path", "type", "count", "each", "algorithm"}};
    for (auto& step : shown.inside) {
        double time = time_per_run(profile, step) * 1e-9;
        auto total = shown.device_total;
        table.push_back(
            {time_text(time), percent_text(total && *total > 0 ? std::optional(time / *total) : std::nullopt),
             shortened(step.path), shortened(step.type),
             cli::format_number(double(step.count) / double(std::max<int64_t>(1, profile.runs_total)), 4),
             time_text(double(step.total) / double(step.count) * 1e-9), shortened(step.algorithm)});
    }
    stream << "\ninside of operators that hold graphs, in a run on average\n";
    cli::print_table(stream, table, {"algorithm", "each", "type", "share"});
}

std::optional<Shown::Runs> times_of_runs(const Profile& profile) {
    if (profile.runs.empty()) return {};
    std::vector<int64_t> times;
    for (auto& run : profile.runs) times.push_back(run.duration());
    std::ranges::sort(times);
    size_t n = times.size(), slow = std::min(n - 1, n * 99 / 100);
    return Shown::Runs{double(times[n / 2]) * 1e-9, double(times[slow]) * 1e-9, double(times[0]) * 1e-9};
}

cli::Json inside_json(const std::vector<ProfileInnerStep>& steps) {
    cli::Json list = cli::Json::array();
    for (auto& step : steps)
        list.push_back({{"step", step.step},
                        {"path", step.path},
                        {"type", step.type},
                        {"algorithm", step.algorithm},
                        {"count", step.count},
                        {"total_ns", step.total}});
    return list;
}

template <class T>
cli::Json or_null(const std::optional<T>& maybe) {
    return maybe ? cli::Json(*maybe) : cli::Json(nullptr);
}

cli::Json caches_json(const Peak& peak) {
    cli::Json list = cli::Json::array();
    for (auto& cache : peak.caches)
        list.push_back({{"name", cache.name}, {"bytes_per_s", cache.bytes_per_s}});
    return list;
}

cli::Json rows_json(const Profile& profile, const std::vector<ProfileRow>& rows) {
    cli::Json list = cli::Json::array();
    for (auto& row : rows) {
        cli::Json json{{"name", row.name},
                       {"type", row.type},
                       {"id", row.id},
                       {"count", row.count},
                       {"time_s", row.time},
                       {"operations", or_null(row.operations)},
                       {"bytes", or_null(row.bytes)},
                       {"operations_per_s", or_null(row.operations_per_s())},
                       {"bytes_per_s", or_null(row.bytes_per_s())},
                       {"share_of_roof", or_null(share_of_roof(profile, row))}};
        if (row.step >= 0) {
            auto& step = profile.steps[size_t(row.step)];
            auto limit = limit_of(profile, step, row.time);
            json["index"] = row.step;
            json["real_operations"] = or_null(real_operations(step));
            json["bound"] = bound_name(limit.bound);
            json["data_from"] = limit.source;
            json["reason"] = limit.reason;
            json["advice"] = limit.advice;
            json["algorithm"] = step.algorithm;
            json["layout"] = layout_of(profile, step);
            json["sources"] = step.sources;
            json["in_shapes"] = profile.input_shapes(step);
            json["out_shapes"] = profile.output_shapes(step);
        }
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace

Shown select(const Profile& profile, const ShowOptions& options) {
    auto statistic = options.selection.statistic;
    Shown shown;
    shown.device_total = total_time(profile, ProfileSide::device, statistic);
    shown.host_total = total_time(profile, ProfileSide::host, statistic);
    shown.inside = profile.inner_steps;
    shown.base = share_base(profile, ProfileSide::device, statistic);
    shown.findings =
        findings_of(profile, step_times(profile, ProfileSide::device, false, statistic), shown.base);
    shown.runs = times_of_runs(profile);
    std::ranges::stable_sort(shown.inside, std::ranges::greater{}, &ProfileInnerStep::total);
    if (options.selection.top && shown.inside.size() > options.selection.top)
        shown.inside.resize(options.selection.top);
    if (options.only == Only::everything || options.only == Only::device)
        shown.device = select_rows(profile, ProfileSide::device, options.selection);
    if (options.only == Only::host || (options.only == Only::everything && options.show_host))
        shown.host = select_rows(profile, ProfileSide::host, options.selection);
    return shown;
}

void print(std::ostream& stream, const Profile& profile, const Shown& shown, const ShowOptions& options) {
    auto only = options.only;
    bool everything = only == Only::everything;
    if (everything || only == Only::summary) print_summary(stream, profile, shown, options);
    if (everything || only == Only::device) {
        if (everything) stream << '\n';
        print_side(stream, profile, ProfileSide::device, shown.device, shown.device_total, options);
        if (!shown.inside.empty() && options.style == Style::table && !options.names_only)
            print_inside(stream, profile, shown);
    }
    bool is_whole = options.selection.types.empty() && !options.selection.name_pattern &&
                    options.selection.aggregate == Aggregate::none;
    if (everything && is_whole && options.style == Style::table && !options.names_only)
        print(stream, shown.findings, shown.base);
    if (only == Only::host || (everything && options.show_host)) {
        if (everything) stream << '\n';
        print_side(stream, profile, ProfileSide::host, shown.host, shown.host_total, options);
    }
}

cli::Json to_json(const Profile& profile, const Shown& shown) {
    cli::Json json{{"origin", origin_text(profile)},
                   {"model", profile.model},
                   {"recording", recording_json(profile)},
                   {"total_device_time_s", or_null(shown.device_total)},
                   {"total_host_time_s", or_null(shown.host_total)}};
    json["devices"] = cli::Json::array();
    for (auto& device : profile.devices)
        json["devices"].push_back({{"name", device.name}, {"model", device.model}});
    auto* peak = profile.roof();
    json["peak"] = peak ? cli::Json{{"operations_per_s", peak->operations_per_s},
                                    {"bytes_per_s", peak->bytes_per_s},
                                    {"byte_operations_per_s", peak->byte_operations_per_s},
                                    {"caches", caches_json(*peak)},
                                    {"busy", peak->is_busy}}
                        : cli::Json(nullptr);
    json["device"] = rows_json(profile, shown.device);
    json["host"] = rows_json(profile, shown.host);
    json["inside"] = inside_json(shown.inside);
    json["share_base"] = to_json(shown.base);
    json["findings"] = to_json(shown.findings);
    json["runs"] = shown.runs ? cli::Json{{"p50_s", shown.runs->median},
                                          {"p99_s", shown.runs->p99},
                                          {"fastest_s", shown.runs->fastest}}
                              : cli::Json(nullptr);
    return json;
}

}  // namespace mge::profile
