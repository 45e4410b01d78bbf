// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/explain_miss.h"

#include <array>

#include "libmge/base/error.h"
#include "libmge/kernel/problem_text.h"

namespace mge {
namespace {

// What stands before the last " | " of a machine is the processor and its ISA, behind it the libraries.
std::pair<std::string, std::string> split_machine(const std::string& machine) {
    size_t bar = machine.rfind(" | ");
    if (bar == machine.npos) return {machine, {}};
    return {machine.substr(0, bar), machine.substr(bar + 3)};
}

std::string joined(const std::vector<std::string>& parts) {
    std::string result;
    for (auto& part : parts) result += (result.empty() ? "" : " ") + part;
    return result;
}

std::string differs(std::string_view what, const std::string& there, const std::string& here) {
    return text(what, " '", there, "' there, '", here, "' here");
}

// How far a row is from answering; the parts of the key that differ, the gravest first.
struct Distance {
    int cost = 0;
    MissReason reason = MissReason::absent;
    std::string detail;
    void add(int more, MissReason why, std::string how) {
        if (more > worst_) worst_ = more, reason = why;
        cost += more;
        detail += (detail.empty() ? "" : "; ") + std::move(how);
    }

private:
    int worst_ = 0;
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

void compare_specs(const std::vector<std::string>& there, const std::vector<std::string>& here,
                   Distance& distance) {
    if (there == here) return;
    std::string how = differs("operands are", joined(there), joined(here));
    if (without_layouts(there) == without_layouts(here))
        distance.add(3, MissReason::layout, std::move(how));
    else
        distance.add(without_shapes(there) == without_shapes(here) ? 16 : 64,
                     without_shapes(there) == without_shapes(here) ? MissReason::shape : MissReason::absent,
                     std::move(how));
}

// Nullopt for another operator or something unreadable: too far to be near.
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
    if (there->constants != here.constants || there->precision != here.precision)
        distance.add(32, MissReason::attribute,
                     differs("constant inputs and precision are", there->constants + " " + there->precision,
                             here.constants + " " + here.precision));
    return distance;
}

// The rows are this problem's on this machine, and yet none is taken.
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
        return {MissReason::attribute, "no algorithm measured has the attributes asked for", *intact};
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
