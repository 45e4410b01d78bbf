// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "apps/dump/graphviz.h"
#include "libmge/base/error.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

constexpr double points_per_inch = 72;
constexpr double port_height = 20, character = 6.2;
// More values on one side of a fold share a port.
constexpr size_t most_ports = 10;
constexpr size_t longest_port = 30;

std::string port_label(std::string label) {
    if (label.size() <= longest_port) return label;
    size_t end = longest_port - 1;
    while (end > 0 && (uint8_t(label[end]) & 0xC0) == 0x80) --end;
    return label.substr(0, end) + "…";
}

class Placing {
public:
    Placing(const Graph& graph, const FoldTree& tree, const std::function<BoxSize(FoldItem)>& size_of)
        : graph_(graph), tree_(tree), size_of_(size_of), layouts_(tree.folds.size()) {
        for (size_t i = 0; i < graph.nodes().size(); ++i)
            for (ValueId id : graph.node(NodeId(i)).inputs)
                if (id != no_value) readers_[id].push_back(NodeId(i));
        for (ValueId id : graph.outputs()) outputs_.insert(id);
        for (size_t i = 0; i < tree.folds.size(); ++i) connect(int(i));
    }

    std::vector<std::vector<Layout>> all() {
        int levels = tree_.folds.front().height + 1;
        for (int level = 0; level < levels; ++level) place_level(size_t(level));
        return std::move(layouts_);
    }

private:
    // The index of the box that holds an operator, in the fold's list of boxes; -1: outside.
    int box_of(int fold, NodeId node) const {
        int at = tree_.fold_of[size_t(node)], below = -1;
        while (at >= 0 && at != fold) below = at, at = tree_.folds[size_t(at)].parent;
        if (at < 0) return -1;
        auto& items = tree_.folds[size_t(fold)].items;
        auto is_it = [&](auto& item) {
            return below < 0 ? !item.is_fold && item.index == node : item.is_fold && item.index == below;
        };
        return int(std::ranges::find_if(items, is_it) - items.begin());
    }

    // Boxes, ports and edges of a fold, without places.
    void connect(int fold) {
        Layout base;
        for (auto& item : tree_.folds[size_t(fold)].items)
            base.boxes.push_back({item, -1, 0, 0, size_of_(item)});
        std::map<NodeId, size_t> box;
        for (NodeId node : tree_.folds[size_t(fold)].nodes) box[node] = size_t(box_of(fold, node));
        std::set<std::pair<size_t, size_t>> edges;
        std::map<ValueId, size_t> entering;
        for (auto& [node, target] : box) {
            for (ValueId id : graph_.node(node).inputs)
                if (id != no_value && !graph_.value(id).is_constant()) {
                    auto maker = box.find(graph_.value(id).producer);
                    size_t from = maker != box.end() ? maker->second : entry(base, entering, id);
                    if (from != target) edges.emplace(from, target);
                }
        }
        size_t leaving = 0;
        for (auto& [node, from] : box)
            for (ValueId id : graph_.node(node).outputs) add_exits(base, edges, box, id, from, leaving);
        for (auto& [from, to] : edges) base.edges.push_back({from, to, {}});
        auto& levels = layouts_[size_t(fold)];
        levels.assign(size_t(tree_.folds[size_t(fold)].height) + 1, base);
    }

    size_t add_port(Layout& layout, const std::string& label, NodeId node) {
        std::string shown = port_label(label);
        layout.ports.push_back({shown, node});
        BoxSize size{std::max(40.0, 16 + character * double(shown.size())), port_height};
        layout.boxes.push_back({{}, int(layout.ports.size()) - 1, 0, 0, size});
        return layout.boxes.size() - 1;
    }

    size_t entry(Layout& layout, std::map<ValueId, size_t>& entering, ValueId id) {
        auto found = entering.find(id);
        if (found != entering.end()) return found->second;
        auto& value = graph_.value(id);
        if (entering.size() == most_ports) more_ = add_port(layout, "more values", -1);
        if (entering.size() >= most_ports) return entering.emplace(id, more_).first->second;
        std::string name =
            value.producer >= 0 ? node_label(graph_, graph_.node(value.producer)) : value_label(graph_, id);
        return entering[id] = add_port(layout, name, value.producer);
    }

    void add_exits(Layout& layout, std::set<std::pair<size_t, size_t>>& edges,
                   const std::map<NodeId, size_t>& inside, ValueId id, size_t from, size_t& leaving) {
        NodeId reader = -1;
        if (auto found = readers_.find(id); found != readers_.end())
            for (NodeId node : found->second)
                if (!inside.contains(node)) {
                    reader = node;
                    break;
                }
        bool is_output = outputs_.contains(id);
        if ((reader < 0 && !is_output) || leaving >= most_ports) return;
        ++leaving;
        std::string label = is_output ? value_label(graph_, id) : node_label(graph_, graph_.node(reader));
        edges.emplace(from, add_port(layout, label, is_output ? -1 : reader));
    }

    static bool has_level(const std::vector<Layout>& levels, size_t level) { return level < levels.size(); }

    void place_level(size_t level) {
        std::ostringstream dot;
        dot.imbue(std::locale::classic());
        std::vector<Layout*> placed;
        for (auto& levels : layouts_) {
            if (!has_level(levels, level)) continue;
            placed.push_back(&levels[level]);
            if (level > 0) open_folds(levels[level], level - 1);
            write_dot(dot, levels[level]);
        }
        std::istringstream plain(run_graphviz(dot.str(), "plain", "the page"));
        plain.imbue(std::locale::classic());
        for (auto* layout : placed) read_plain(plain, *layout);
    }

    void open_folds(Layout& layout, size_t level) const {
        for (auto& box : layout.boxes) {
            if (!box.item.is_fold) continue;
            auto& levels = layouts_[size_t(box.item.index)];
            auto& inside = levels[std::min(level, levels.size() - 1)].size;
            box.size = {inside.width + 2 * fold_margin, inside.height + fold_title + fold_margin};
        }
    }

    static void write_dot(std::ostream& dot, const Layout& layout) {
        dot << "digraph g {\n  graph [rankdir=TB, nodesep=0.2, ranksep=0.28];\n"
               "  node [shape=box, fixedsize=true, label=\"\"];\n  edge [arrowhead=none];\n";
        for (size_t i = 0; i < layout.boxes.size(); ++i)
            dot << "  b" << i << " [width=" << layout.boxes[i].size.width / points_per_inch
                << ", height=" << layout.boxes[i].size.height / points_per_inch << "];\n";
        for (auto& edge : layout.edges) dot << "  b" << edge.from << " -> b" << edge.to << ";\n";
        dot << "}\n";
    }

    // Reads one graph of Graphviz's "plain" format, whose y axis points up.
    static void read_plain(std::istream& plain, Layout& layout) {
        std::map<std::pair<size_t, size_t>, PlacedEdge*> edges;
        for (auto& edge : layout.edges) edges[{edge.from, edge.to}] = &edge;
        std::string line, word, a, b;
        while (std::getline(plain, line) && line != "stop") {
            std::istringstream words(line);
            words.imbue(std::locale::classic());
            words >> word;
            if (word == "graph") {
                double scale = 0;
                words >> scale >> layout.size.width >> layout.size.height;
                layout.size.width *= points_per_inch;
                layout.size.height *= points_per_inch;
            } else if (word == "node") {
                double x = 0, y = 0;
                words >> a >> x >> y;
                auto& box = layout.boxes.at(std::stoul(a.substr(1)));
                box.x = x * points_per_inch;
                box.y = layout.size.height - y * points_per_inch;
            } else if (word == "edge") {
                size_t count = 0;
                words >> a >> b >> count;
                auto& edge = *edges.at({std::stoul(a.substr(1)), std::stoul(b.substr(1))});
                for (size_t i = 0; i < count; ++i) {
                    double x = 0, y = 0;
                    words >> x >> y;
                    edge.points.push_back(x * points_per_inch);
                    edge.points.push_back(layout.size.height - y * points_per_inch);
                }
            }
        }
    }

    const Graph& graph_;
    const FoldTree& tree_;
    const std::function<BoxSize(FoldItem)>& size_of_;
    std::map<ValueId, std::vector<NodeId>> readers_;
    std::set<ValueId> outputs_;
    size_t more_ = 0;  // the shared port of the fold
    std::vector<std::vector<Layout>> layouts_;
};

}  // namespace

std::vector<std::vector<Layout>> place_folds(const Graph& graph, const FoldTree& tree,
                                             const std::function<BoxSize(FoldItem)>& size_of) {
    return Placing(graph, tree, size_of).all();
}

}  // namespace mge::dump
