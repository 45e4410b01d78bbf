// SPDX-License-Identifier: Apache-2.0
#include "python/src/graph_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/unique_names.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/rewrite.h"
#include "libmge/model/import/megengine/counterparts.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::python {
namespace {

std::string name_in(const std::string& scope, const Graph& graph, const Node& node) {
    auto found = megengine::counterpart(*node.op, input_specs(graph, node));
    bool is_elementwise = node.op->traits.elementwise && !found.mode.empty();
    return text(scope, scope.empty() ? "" : ".", is_elementwise ? found.mode : found.type);
}

bool has_bias(const Node& node) {
    if (node.op != &ops::Conv2d::info && node.op != &ops::Matmul::info) return false;
    return named_input(node, "bias") != no_value;
}

// True if the bias can be added to the result as it is.
bool has_separable_bias(const Graph& graph, const Node& node) {
    if (!has_bias(node)) return false;
    auto &bias = graph.value(named_input(node, "bias")).spec, &result = graph.value(node.outputs[0]).spec;
    return bias.dtype == result.dtype && (node.op == &ops::Matmul::info || bias.shape.rank() == 4);
}

// Operators that MegEngine's function ends with, if they are not ours.
constexpr std::pair<const OpInfo*, std::string_view> last_steps[] = {
    {&ops::AddAxis::info, "AddAxis"},       {&ops::Atan::info, "ATAN2"},
    {&ops::Copy::info, "Identity"},         {&ops::Greater::info, "LT"},
    {&ops::GreaterEqual::info, "LEQ"},      {&ops::LeakyRelu::info, "PRELU"},
    {&ops::RemoveAxis::info, "RemoveAxis"},
};

// Empty if it is the operator itself.
std::string_view last_step(const Node& node) {
    if (has_bias(node)) return "ADD";
    bool is_place = node.op == &ops::Argmax::info || node.op == &ops::Argmin::info;
    if (is_place && !node.as<ops::ArgParams>().keepdims) return "RemoveAxis";
    auto row = std::ranges::find(last_steps, node.op, &std::pair<const OpInfo*, std::string_view>::first);
    return row == std::end(last_steps) ? "" : row->second;
}

// Returns the name of a node's results: that of the last step of MegEngine's function, such as a sum if the
// operator adds a bias.
std::string result_name(const std::string& name, const Node& node) {
    std::string_view last = last_step(node);
    if (last.empty()) return name;
    size_t dot = name.rfind('.');
    return text(dot == std::string::npos ? "" : name.substr(0, dot + 1), last);
}

// Numbers duplicate names from 0 on. Fixed and empty ones are kept.
void number_equal(const std::vector<std::string*>& names, const std::vector<bool>& is_fixed) {
    std::map<std::string, int> counts;
    for (auto* name : names) ++counts[*name];
    UniqueNames unique;
    std::vector<std::string*> others;
    for (size_t i = 0; i < names.size(); ++i)
        if (is_fixed[i] || names[i]->empty() || counts[*names[i]] == 1)
            unique.take(*names[i]);
        else
            others.push_back(names[i]);
    for (auto* name : others) *name = unique.numbered(*name, 0);
}
void number_equal(std::vector<std::string>& names) {
    std::vector<std::string*> all;
    for (auto& name : names) all.push_back(&name);
    number_equal(all, std::vector<bool>(all.size()));
}

void name_results(Graph& graph, const Node& node, const std::string& name) {
    for (ValueId id : node.outputs)
        graph.value(id).name =
            node.outputs.size() > 1 ? text(name, ":o", graph.value(id).output_index) : name;
}

}  // namespace

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
    std::vector<std::string> names;
    for (ValueId id : ids) names.push_back(graph.value(id).name);
    return names;
}

void drop_names(Graph& graph, const KeptNames& kept) {
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (!kept.operators) graph.node(NodeId(i)).name.clear();
    std::set<ValueId> outputs;
    if (kept.values == 1) outputs.insert(graph.outputs().begin(), graph.outputs().end());
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        bool is_kept = value.is_input || kept.values > 1 || outputs.contains(ValueId(i)) ||
                       (value.is_constant() && kept.constants);
        if (!is_kept) value.name.clear();
    }
}

void number_equal_values(Graph& graph) {
    std::vector<std::string*> names;
    for (size_t i = 0; i < graph.values().size(); ++i) names.push_back(&graph.value(ValueId(i)).name);
    std::vector<bool> is_port(names.size());
    for (auto* ids : {&graph.inputs(), &graph.outputs()})
        for (ValueId id : *ids) is_port[size_t(id)] = true;
    number_equal(names, is_port);
}

Graph separate_biases(const Graph& graph, NameScopes& scopes) {
    Rewrite rewrite(graph);
    Graph& target = rewrite.target();
    std::vector<size_t> places;  // positions of the nodes in the target
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        places.push_back(target.nodes().size());
        auto& node = graph.nodes()[i];
        if (!has_separable_bias(graph, node)) {
            rewrite.copy(NodeId(i));
            continue;
        }
        std::vector<ValueId> inputs = rewrite(node.inputs);
        ValueId bias = std::exchange(inputs[*input_position(*node.op, "bias")], no_value);
        NodeId product = target.add_node(*node.op, node.params, std::move(inputs));
        NodeId sum = target.add_node(ops::Add::info, ops::Add::info.params.make(),
                                     {bias, target.node(product).outputs[0]});
        rewrite.replace(node.outputs[0], target.node(sum).outputs[0]);
    }
    places.push_back(target.nodes().size());
    for (auto& [first, scope] : scopes) first = places[std::min(first, graph.nodes().size())];
    return rewrite.finish();
}

void name_recorded(Graph& graph, const NameScopes& scopes) {
    std::vector<std::string> names, results;
    size_t scope = 0;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        while (scope < scopes.size() && scopes[scope].first <= i) ++scope;
        auto& node = graph.nodes()[i];
        names.push_back(name_in(scope ? scopes[scope - 1].second : "", graph, node));
        results.push_back(result_name(names.back(), node));
    }
    number_equal(names);
    number_equal(results);
    for (size_t i = 0; i < names.size(); ++i) {
        Node& node = graph.node(NodeId(i));
        name_results(graph, node, results[i]);
        node.name = names[i];
    }
}

}  // namespace mge::python
