// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_picture.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "apps/dump/operator_kinds.h"
#include "apps/dump/written.h"
#include "libmge/base/markup.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

// Breaks the long name of a fused operator before parts that do not fit in a line.
std::string broken(std::string_view name) {
    constexpr size_t width = 28;
    std::string result;
    size_t column = 0;
    while (!name.empty()) {
        size_t end = std::min(name.find('+'), name.size() - 1) + 1;
        if (column > 0 && column + end > width) {
            result += '\n';
            column = 0;
        }
        result += name.substr(0, end);
        column += end;
        name.remove_prefix(end);
    }
    return result;
}

// Quotes a label: \n breaks lines; quotes and backslashes are escaped.
std::string in_quotes(const std::string& raw) {
    std::string result = "\"";
    for (char c : raw) {
        if (c == '\n') {
            result += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') result += '\\';
        result += uint8_t(c) < 0x20 ? ' ' : c;
    }
    return result + '"';
}

class Picture {
public:
    Picture(const Graph& graph, const PictureOptions& options) : graph_(graph), options_(options) {
        choose_nodes();
    }

    std::string dot() {
        text_ =
            "digraph model {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fontname="
            "\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=9, "
            "color=\"#606060\"];\n";
        for (NodeId id : nodes_) draw_node(id);
        for (NodeId id : nodes_)
            for (ValueId input : graph_.node(id).inputs)
                if (input != no_value && !draw_constant(input, id)) draw_edge(input, text("n", id));
        for (size_t i = 0; i < graph_.outputs().size(); ++i) draw_output(i);
        for (auto& [node, constants] : constants_of_)
            text_ += text("  { rank=same;", constants, " n", node, "; }\n");
        return text_ + title() + "}\n";
    }

private:
    // The title above the graph, and the legend of colours.
    std::string title() const {
        std::string cells;
        for (auto& kind : kinds)
            if (kinds_.contains(kind.fill))
                cells += text("<TD BGCOLOR=\"", kind.fill, "\"><FONT POINT-SIZE=\"10\">", kind.meaning,
                              "</FONT></TD>");
        std::string legend =
            cells.empty() ? ""
                          : "<TABLE BORDER=\"0\" CELLBORDER=\"1\" COLOR=\"#a0a0a0\" CELLSPACING=\"4\"><TR>" +
                                cells + "</TR></TABLE>";
        return text(
            "  labelloc=t;\n  fontname=\"Helvetica\";\n  label=<<TABLE BORDER=\"0\"><TR><TD><FONT "
            "POINT-SIZE=\"15\">",
            as_markup(options_.title), "</FONT></TD></TR><TR><TD>", legend, "</TD></TR></TABLE>>;\n");
    }

    void choose_nodes() {
        if (options_.around.empty()) {
            for (size_t i = 0; i < graph_.nodes().size(); ++i) nodes_.insert(NodeId(i));
            return;
        }
        add_named();
        if (nodes_.empty())
            throw UserError(text("no operator or value is called '", options_.around,
                                 "'; mge-dump graph --format text shows all names"));
        for (int i = 0; i < options_.depth; ++i) add_neighbours();
    }
    void add_named() {
        std::vector<std::string> names = value_names(graph_);
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            bool is_named = is_called(node, options_.around);
            for (auto* ids : {&node.inputs, &node.outputs})
                for (ValueId id : *ids) is_named |= id != no_value && names[size_t(id)] == options_.around;
            if (is_named) nodes_.insert(NodeId(i));
        }
    }
    // True if this is the node's name, or that of an operator whose work it does.
    bool is_called(const Node& node, const std::string& name) const {
        if (node.name == name || node_label(graph_, node) == name) return true;
        return std::ranges::any_of(
            node.origins, [&](NodeId id) { return label(graph_.source_nodes()->at(size_t(id))) == name; });
    }
    void add_neighbours() {
        std::set<ValueId> touched;
        for (NodeId id : nodes_)
            for (auto* ids : {&graph_.node(id).inputs, &graph_.node(id).outputs})
                for (ValueId value : *ids)
                    if (value != no_value && !graph_.value(value).is_constant()) touched.insert(value);
        for (size_t i = 0; i < graph_.nodes().size(); ++i)
            for (auto* ids : {&graph_.node(NodeId(i)).inputs, &graph_.node(NodeId(i)).outputs})
                for (ValueId value : *ids)
                    if (touched.contains(value)) nodes_.insert(NodeId(i));
    }

    void draw_node(NodeId id) {
        auto& node = graph_.node(id);
        std::string label(node.op->name), name = node_label(graph_, node);
        bool has_type = name.starts_with(label + "#") && name.find('+') == name.npos;
        label = has_type || name == label ? name : label + "\n" + broken(name);
        if (options_.params)
            if (std::string params = params_text(node.op->fields, node.params.get()); !params.empty())
                label += "\n" + params;
        auto& kind = kinds[kind_of(graph_, node)];
        kinds_.insert(kind.fill);
        text_ += text("  n", id, " [label=", in_quotes(label), ", fillcolor=\"", kind.fill, "\"];\n");
    }
    // Draws values that no drawn node computes, once each.
    std::string source(ValueId id) {
        auto& value = graph_.value(id);
        if (value.producer >= 0 && nodes_.contains(value.producer)) return text("n", value.producer);
        std::string name = text("v", id);
        if (drawn_.insert(id).second) {
            const char* style = value.is_constant() ? "shape=note, fillcolor=\"#ffffff\""
                                : value.is_input    ? "shape=ellipse, fillcolor=\"#fff3b0\""
                                                    : "shape=plaintext, fillcolor=\"#ffffff\"";
            std::string label = value.producer >= 0 ? "…" : value.name.empty() ? name : value.name;
            text_ +=
                text("  ", name, " [label=", in_quotes(text(label, "\n", value.spec)), ", ", style, "];\n");
        }
        return name;
    }
    // Draws a constant beside each reader instead of above all nodes.
    bool draw_constant(ValueId id, NodeId reader) {
        auto& value = graph_.value(id);
        if (!value.is_constant()) return false;
        if (!options_.constants) return true;
        std::string name = text("v", id, "_", reader);
        if (!drawn_constants_.insert(name).second) return true;
        std::string label = text(value.name.empty() ? text("v", id) : value.name, "\n", value.spec);
        text_ += text("  ", name, " [label=", in_quotes(label),
                      ", shape=note, fillcolor=\"#ffffff\", fontsize=9];\n  ", name, " -> n", reader,
                      " [arrowsize=0.6];\n");
        constants_of_[reader] += " " + name + ";";
        return true;
    }
    void draw_edge(ValueId id, const std::string& target) {
        auto& value = graph_.value(id);
        if (value.is_constant() && !options_.constants) return;
        std::string from = source(id);
        std::string label = value.producer >= 0 ? text(" ", value.spec) : "";
        text_ += text("  ", from, " -> ", target, " [label=", in_quotes(label), ", weight=4];\n");
    }
    void draw_output(size_t i) {
        ValueId id = graph_.outputs()[i];
        auto& value = graph_.value(id);
        if (value.producer >= 0 ? !nodes_.contains(value.producer) : !options_.around.empty()) return;
        std::string name = value.name.empty() ? text("output ", i) : value.name;
        text_ += text("  out", i, " [label=", in_quotes(name), ", shape=ellipse, fillcolor=\"#b7e4c7\"];\n");
        draw_edge(id, text("out", i));
    }

    const Graph& graph_;
    const PictureOptions& options_;
    std::set<NodeId> nodes_;
    std::set<ValueId> drawn_;
    std::set<std::string> drawn_constants_;
    std::map<NodeId, std::string> constants_of_;  // names in the picture
    std::set<std::string_view> kinds_;            // fills in use
    std::string text_;
};

}  // namespace

std::string dot_text(const Graph& graph, const PictureOptions& options) {
    return Picture(graph, options).dot();
}

}  // namespace mge::dump
