// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "libmge/base/joined.h"
#include "libmge/base/number_text.h"
#include "libmge/base/utf8.h"
#include "libmge/graph/graph.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/origins.h"

namespace mge {
namespace {

std::string value_name(const Graph& graph, ValueId id) {
    if (id == no_value) return "-";
    auto& value = graph.value(id);
    std::string name = text(value.is_constant() ? "c" : value.is_input ? "in" : "v", id);
    return value.name.empty() ? name : name + ":" + printable(value.name);
}

// The name that every tool uses, once the graph has origins.
std::string node_name(const Graph& graph, const Node& node) {
    return graph.source_nodes() ? node_label(graph, node) : node.name;
}

std::string in_quotes(std::string_view raw) {
    std::string result = "\"";
    for (unsigned char c : valid_utf8(raw)) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += char(c);
        } else if (c < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", c);
            result += code;
        } else {
            result += char(c);
        }
    }
    return result + '"';
}

std::string json_number(double value) {
    // JSON has neither infinities nor NaN.
    if (!std::isfinite(value)) return in_quotes(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return decimal_text(value, 17);
}

template <class T, class Fn>
std::string json_list(const T& list, Fn&& item) {
    return '[' + joined(list, ", ", item) + ']';
}

struct JsonParam {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return json_number(value); }
    std::string operator()(const std::string& value) const { return in_quotes(value); }
    std::string operator()(const IntList& value) const { return json_list(value, *this); }
    std::string operator()(const FloatList& value) const { return json_list(value, *this); }
    std::string operator()(const SubgraphRef& value) const {
        return value ? to_json(graph_of(value)) : "null";
    }
};

// Prints a nested graph below its operator.
std::string indented(std::string_view title, const std::string& lines) {
    std::string result = text("  ", title, ":\n");
    for (size_t begin = 0; begin < lines.size();) {
        size_t end = lines.find('\n', begin) + 1;
        result += "    " + lines.substr(begin, end - begin);
        begin = end;
    }
    return result;
}

std::string json_ids(const std::vector<ValueId>& ids) {
    return json_list(ids, [](ValueId id) { return std::to_string(id); });
}

std::string json_value(const Graph& graph, ValueId id) {
    auto& value = graph.value(id);
    std::string shape = value.spec.shape.is_known()
                            ? json_list(value.spec.shape, [](int64_t d) { return std::to_string(d); })
                            : "null";
    std::string kind = value.is_constant() ? "constant" : value.is_input ? "input" : "computed";
    return text("{\"id\": ", id, ", \"kind\": ", in_quotes(kind), ", \"name\": ", in_quotes(value.name),
                ", \"dtype\": ", in_quotes(name_of(value.spec.dtype)), ", \"shape\": ", shape,
                ", \"layout\": ", in_quotes(value.spec.layout.name()), "}");
}

std::string json_node(const Graph& graph, const Node& node) {
    auto params = save_params(node.op->fields, node.params.get());
    auto fields = joined(params, ", ", [](auto& param) {
        return in_quotes(param.first) + ": " + std::visit(JsonParam{}, param.second);
    });
    return text("{\"op\": ", in_quotes(node.op->name), ", \"name\": ", in_quotes(node.name),
                ", \"params\": {", fields, "}, \"inputs\": ", json_ids(node.inputs),
                ", \"outputs\": ", json_ids(node.outputs), ", \"label\": ", in_quotes(node_name(graph, node)),
                "}");
}

}  // namespace

// v4 f32(1, 8) = add(in0:x, c1) "name"
std::string to_text(const Graph& graph) {
    std::string result;
    for (ValueId id : graph.inputs())
        result += text("input ", value_name(graph, id), ' ', graph.value(id).spec, '\n');
    for (size_t i = 0; i < graph.values().size(); ++i)
        if (auto& value = graph.value(ValueId(i)); value.is_constant())
            result += text("constant ", value_name(graph, ValueId(i)), ' ', value.spec, '\n');
    for (auto& node : graph.nodes()) {
        auto input = [&](ValueId id) { return value_name(graph, id); };
        auto output = [&](ValueId id) { return text(value_name(graph, id), ' ', graph.value(id).spec); };
        std::string params = params_text(node.op->fields, node.params.get()), name = node_name(graph, node);
        result += text(joined(node.outputs, ", ", output), " = ", node.op->name, '(',
                       joined(node.inputs, ", ", input), params.empty() ? "" : "; ", params, ')',
                       name.empty() ? "" : " " + in_quotes(printable(name)), '\n');
        for (auto& held : held_graphs(node))
            result += indented(held.parameter, to_text(graph_of(held.graph)));
    }
    for (ValueId id : graph.outputs()) result += text("output ", value_name(graph, id), '\n');
    return result;
}

std::string to_json(const Graph& graph) {
    std::string values;
    for (size_t i = 0; i < graph.values().size(); ++i)
        values += text(i ? ",\n    " : "", json_value(graph, ValueId(i)));
    auto nodes = joined(graph.nodes(), ",\n    ", [&](auto& node) { return json_node(graph, node); });
    return text("{\n  \"inputs\": ", json_ids(graph.inputs()),
                ",\n  \"outputs\": ", json_ids(graph.outputs()), ",\n  \"values\": [\n    ", values,
                "],\n  \"nodes\": [\n    ", nodes, "]\n}\n");
}

std::string to_dot(const Graph& graph) {
    std::string result = "digraph graph_ {\n  node [shape=box];\n";
    auto source = [&](ValueId id) {
        auto& value = graph.value(id);
        return value.producer >= 0 ? text("n", value.producer) : text("v", id);
    };
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (value.producer >= 0 || !(value.is_input || value.is_constant())) continue;
        result += text("  v", i, " [shape=", value.is_input ? "ellipse" : "note",
                       ", label=", in_quotes(text(value_name(graph, ValueId(i)), ' ', value.spec)), "];\n");
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        std::string name = node_name(graph, node);
        result += text("  n", i, " [label=", in_quotes(text(node.op->name, name.empty() ? "" : " " + name)),
                       "];\n");
        for (ValueId id : node.inputs)
            if (id != no_value)
                result += text("  ", source(id), " -> n", i,
                               " [label=", in_quotes(text(graph.value(id).spec)), "];\n");
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        result += text("  out", i, " [shape=ellipse];\n  ", source(graph.outputs()[i]), " -> out", i, ";\n");
    return result + "}\n";
}

}  // namespace mge
