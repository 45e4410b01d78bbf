// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/explain_miss.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/kernel/problem_text.h"

namespace mge {
namespace {

// The part of a machine before the last " | " is the processor and its ISA, the part after it the libraries.
std::pair<std::string, std::string> split_machine(const std::string& machine) {
    size_t bar = machine.rfind(" | ");
    if (bar == machine.npos) return {machine, {}};
    return {machine.substr(0, bar), machine.substr(bar + 3)};
}

// The part after the shapes: ":nChw8c", or empty.
std::vector<std::string> layouts_of(const std::vector<std::string>& specs) {
    std::vector<std::string> result;
    for (auto& spec : specs) result.push_back(spec.substr(std::min(spec.rfind(')'), spec.size() - 1) + 1));
    return result;
}

std::string differs(std::string_view what, const std::string& there, const std::string& here) {
    return text(what, " '", there, "' there, '", here, "' here");
}

// Distance of a row from a match; the parts of the key that differ, most severe first.
struct Distance {
    double cost = 0;
    MissReason reason = MissReason::absent;
    std::string detail;
    void add(double more, MissReason why, std::string how) {
        if (more > worst_) worst_ = more, reason = why;
        cost += more;
        detail += (detail.empty() ? "" : "; ") + std::move(how);
    }

private:
    double worst_ = 0;
};

void compare_machines(const std::string& there, const std::string& here, Distance& distance) {
    auto [cpu_there, libraries_there] = split_machine(there);
    auto [cpu_here, libraries_here] = split_machine(here);
    if (cpu_there != cpu_here)
        distance.add(8, MissReason::machine, differs("the processor is", cpu_there, cpu_here));
    if (libraries_there != libraries_here)
        distance.add(4, MissReason::library_version,
                     differs("the libraries are", libraries_there, libraries_here));
}

// The sizes in "float32(1, 3, 8, 8):nChw8c"; nullopt if one is unknown.
std::optional<std::vector<int64_t>> extents_of(const std::string& spec) {
    size_t open = spec.find('('), close = spec.rfind(')');
    if (open == spec.npos || close == spec.npos || close < open) return std::nullopt;
    std::vector<int64_t> extents;
    for (const char *at = spec.data() + open + 1, *end = spec.data() + close; at != end;) {
        int64_t extent = 0;
        auto [behind, error] = std::from_chars(at, end, extent);
        if (error != std::errc()) return std::nullopt;
        extents.push_back(extent);
        at = std::find_if(behind, end, [](char c) { return c >= '0' && c <= '9'; });
    }
    return extents;
}

// The difference between two shapes: number and ratio of different axes, the batch least; large for another
// rank.
double unlikeness(const std::string& there, const std::string& here) {
    constexpr double another_rank = 100, another_batch = 0.25, most_per_axis = 4;
    auto a = extents_of(there), b = extents_of(here);
    if (!a || !b || a->size() != b->size()) return another_rank;
    double sum = 0;
    for (size_t i = 0; i < a->size(); ++i) {
        double x = double((*a)[i]), y = double((*b)[i]);
        if (x == y) continue;
        double ratio = x > 0 && y > 0 ? std::abs(std::log2(x / y)) : most_per_axis;
        sum += (i == 0 ? another_batch : 1) * (1 + std::min(ratio, most_per_axis));
    }
    return sum;
}

void compare_specs(const std::vector<std::string>& there, const std::vector<std::string>& here,
                   Distance& distance) {
    if (there == here) return;
    std::string how = differs("operands are", joined(there, " "), joined(here, " "));
    bool same_shapes = without_layouts(there) == without_layouts(here);
    bool same_dtypes = without_shapes(there) == without_shapes(here);
    if (same_shapes) return distance.add(3, MissReason::layout, std::move(how));
    if (!same_dtypes) return distance.add(64, MissReason::absent, std::move(how));
    // From 16 for almost equal ones up to 30; another layout is worse than the same.
    double sum = 0;
    for (size_t i = 0; i < std::min(there.size(), here.size()); ++i) sum += unlikeness(there[i], here[i]);
    constexpr double half_way = 20;
    double layouts = layouts_of(there) == layouts_of(here) ? 0 : 1;
    distance.add(16 + 14 * sum / (sum + half_way) + layouts, MissReason::shape, std::move(how));
}

// Returns nullopt for another operator, and for unreadable keys.
std::optional<Distance> distance_of(const CacheRow& row, const std::string& machine,
                                    const ProblemText& here) {
    auto there = parse_problem(row.problem);
    if (!there || there->op != here.op) return std::nullopt;
    Distance distance;
    compare_machines(row.machine, machine, distance);
    if (there->threads != here.threads)
        distance.add(2, MissReason::threads, differs("threads are", there->threads, here.threads));
    if (there->params != here.params)
        distance.add(32, MissReason::attribute, differs("parameters are", there->params, here.params));
    auto specs = [](const ProblemText& p) {
        auto all = p.inputs;
        all.insert(all.end(), p.outputs.begin(), p.outputs.end());
        return all;
    };
    compare_specs(specs(*there), specs(here), distance);
    if (there->beside != here.beside) {
        auto bytes = [](const std::string& beside) { return beside.empty() ? "much" : beside; };
        distance.add(1, MissReason::attribute,
                     differs("between two runs others touch", bytes(there->beside), bytes(here.beside)));
    }
    if (there->constants != here.constants || there->precision != here.precision)
        distance.add(32, MissReason::attribute,
                     differs("constant inputs and precision are", there->constants + " " + there->precision,
                             here.constants + " " + here.precision));
    return distance;
}

// The rows are for this problem on this machine, and yet none is usable.
Miss explain_refusal(std::span<const CacheRow* const> own, const SelectOptions& options) {
    auto first = [&](auto&& accept) -> const CacheRow* {
        for (auto* row : own)
            if (accept(*row)) return row;
        return nullptr;
    };
    auto* intact = first([](auto& row) { return row.is_intact; });
    if (!intact) return {MissReason::damaged, "every row of the problem is damaged", *own.front()};
    auto* wanted =
        first([&](auto& row) { return row.is_intact && options.accepts(row.measured.attributes); });
    if (!wanted)
        return {MissReason::attribute, "no measured algorithm has the requested attributes", *intact};
    return {MissReason::workspace_limit,
            text("'", wanted->measured.name, "' needs ", wanted->measured.workspace, " bytes, allowed are ",
                 options.workspace_limit),
            *wanted};
}

}  // namespace

std::string_view name_of(MissReason reason) {
    constexpr std::array names{
        "damaged",      "workspace limit", "attribute", "library version", "other CPU or ISA",
        "thread count", "layout",          "shape",     "absent"};
    return names.at(size_t(reason));
}

std::optional<Miss> explain_miss(std::span<const CacheRow> rows, const std::string& machine,
                                 const std::string& problem, const SelectOptions& options) {
    std::vector<const CacheRow*> own;
    for (auto& row : rows)
        if (row.machine == machine && row.problem == problem) own.push_back(&row);
    for (auto* row : own)
        if (row->is_intact && options.accepts(row->measured.attributes) &&
            row->measured.workspace <= options.workspace_limit)
            return std::nullopt;
    if (!own.empty()) return explain_refusal(own, options);

    auto here = parse_problem(problem);
    MGE_CHECK(here, "unreadable problem ", problem);
    std::optional<Distance> least;
    Miss miss{MissReason::absent, "nothing was measured for this operator", std::nullopt};
    for (auto& row : rows) {
        auto distance = distance_of(row, machine, *here);
        if (!distance || (least && least->cost <= distance->cost)) continue;
        least = distance;
        miss = {distance->reason, distance->detail, row};
    }
    return miss;
}

}  // namespace mge
