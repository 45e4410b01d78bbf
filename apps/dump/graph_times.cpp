// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_times.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "libmge/base/error.h"
#include "libmge/base/utf8.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

using NodesOf = std::map<NodeId, std::vector<NodeId>>;

// The operators of the graph that do the work of each operator of the source network.
NodesOf nodes_by_origin(const Graph& graph) {
    NodesOf nodes;
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        for (NodeId origin : graph.node(NodeId(i)).origins) nodes[origin].push_back(NodeId(i));
    return nodes;
}

std::map<std::string, NodeId> nodes_by_name(const Graph& graph) {
    std::map<std::string, NodeId> nodes;
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        nodes[node_label(graph, graph.node(NodeId(i)))] = NodeId(i);
    return nodes;
}

// The operators of each step.
std::vector<std::set<NodeId>> nodes_of_steps(const Graph& graph, const Profile& profile) {
    std::vector<std::set<NodeId>> result(profile.steps.size());
    if (profile.operators.empty() || !graph.source_nodes()) {
        auto names = nodes_by_name(graph);
        for (size_t i = 0; i < result.size(); ++i)
            if (auto found = names.find(profile.steps[i].name); found != names.end())
                result[i].insert(found->second);
        return result;
    }
    auto numbers = match_sources(profile.operators, *graph.source_nodes());
    auto nodes = nodes_by_origin(graph);
    for (size_t i = 0; i < result.size(); ++i)
        for (NodeId origin : profile.steps[i].origins) {
            NodeId number = numbers.at(size_t(origin));
            if (auto found = nodes.find(number); number >= 0 && found != nodes.end())
                result[i].insert(found->second.begin(), found->second.end());
        }
    return result;
}

double work_of(const Graph& graph, NodeId id) {
    return footprint(graph, graph.node(id)).operations.value_or(0);
}

// The fraction of the larger network's operators that both have; without the profile's network, the fraction
// of the time in steps with a name of the graph.
double common_part(const Graph& graph, const GraphTimes& times) {
    auto& operators = times.profile.operators;
    if (!operators.empty() && graph.source_nodes()) {
        auto numbers = match_sources(operators, *graph.source_nodes());
        auto common = std::ranges::count_if(numbers, [](NodeId id) { return id >= 0; });
        return double(common) / double(std::max(operators.size(), graph.source_nodes()->size()));
    }
    double known = 0;
    for (auto& step : times.steps)
        if (!step.nodes.empty()) known += step.seconds;
    return times.base.share(known);
}

void refuse_another_model(const std::string& path, const Graph& graph, const GraphTimes& times) {
    constexpr double least_common = 0.8;
    if (common_part(graph, times) >= least_common) return;
    throw UserError(text("'", path, "' is a profile of another model, '", printable(times.profile.model),
                         "': its steps are not operators of this one"));
}

}  // namespace

GraphTimes read_times(const std::string& path, const Graph& graph) {
    GraphTimes times;
    times.file = std::filesystem::path(path).filename().string();
    times.profile = read_profile(path);
    auto& profile = times.profile;
    auto seconds = step_times(profile, ProfileSide::device, false, RunStatistic::median);
    times.base = profile::share_base(profile, ProfileSide::device, RunStatistic::median);
    times.step_of.assign(graph.nodes().size(), -1);
    times.seconds.assign(graph.nodes().size(), 0);
    auto nodes = nodes_of_steps(graph, profile);
    for (size_t i = 0; i < seconds.size(); ++i) {
        if (!seconds[i]) continue;
        TimedStep step{int(i), {nodes[i].begin(), nodes[i].end()}, *seconds[i], 0, {}};
        step.share = times.base.share(step.seconds);
        step.limit = profile::limit_of(profile, profile.steps[i], step.seconds);
        std::ranges::stable_sort(step.nodes, std::greater(), [&](NodeId id) { return work_of(graph, id); });
        for (NodeId id : step.nodes)
            if (times.step_of[size_t(id)] < 0) times.step_of[size_t(id)] = int(times.steps.size());
        if (!step.nodes.empty()) times.seconds[size_t(step.nodes.front())] += step.seconds;
        times.steps.push_back(std::move(step));
    }
    times.findings = profile::findings_of(profile, seconds, times.base);
    refuse_another_model(path, graph, times);
    return times;
}

}  // namespace mge::dump
