// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_folds.h"

#include <algorithm>
#include <map>
#include <set>

#include "apps/dump/graph_blocks.h"
#include "libmge/base/error.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

// More boxes side by side are divided again.
constexpr size_t most_items = 100;
// Lists of at most so many operators are shown as they are.
constexpr size_t few_items = 16;

// The scopes of a name without its last part: "layers.0.q.MatMul" → layers, 0, q.
std::vector<std::string> scopes_of(std::string name) {
    name.resize(std::min(name.size(), name.find('+')));  // the first of fused operators
    if (name.find_first_of("([{ ") != name.npos) return {};
    std::vector<std::string> parts;
    for (size_t start = 0; start <= name.size();) {
        size_t end = std::min(name.find_first_of("./", start), name.size());
        if (end > start) parts.push_back(name.substr(start, end - start));
        start = end + 1;
    }
    if (!parts.empty()) parts.pop_back();
    return parts;
}

class Folding {
public:
    explicit Folding(const Graph& graph) : graph_(graph) {}

    FoldTree tree() {
        std::vector<NodeId> all(graph_.nodes().size());
        for (size_t i = 0; i < all.size(); ++i) all[i] = NodeId(i);
        Draft root{"", scoped(all), {}};
        root = simplified(std::move(root));
        add(root, -1);
        finish();
        return std::move(tree_);
    }

private:
    // A node, or a named list of drafts.
    struct Draft {
        std::string name;
        std::vector<Draft> inside;
        std::vector<NodeId> node;  // one for an operator
        bool is_node() const { return !node.empty(); }
    };
    static Draft node_draft(NodeId id) { return {"", {}, {id}}; }
    static size_t count(const Draft& draft) {
        if (draft.is_node()) return 1;
        size_t n = 0;
        for (auto& item : draft.inside) n += count(item);
        return n;
    }

    // By scopes, if most operators have one.
    std::vector<Draft> scoped(const std::vector<NodeId>& nodes) {
        std::vector<std::vector<std::string>> scopes;
        for (NodeId id : nodes) scopes.push_back(scopes_of(node_label(graph_, graph_.node(id))));
        auto has_scope = [](auto& scope) { return !scope.empty(); };
        bool is_scoped = size_t(std::ranges::count_if(scopes, has_scope)) * 2 > nodes.size();
        Draft root;
        for (size_t i = 0; i < nodes.size(); ++i) {
            Draft* place = &root;
            if (is_scoped)
                for (auto& part : scopes[i]) place = &child(*place, part);
            place->inside.push_back(node_draft(nodes[i]));
        }
        return std::move(root.inside);
    }
    static Draft& child(Draft& parent, const std::string& name) {
        auto is_it = [&](auto& draft) { return !draft.is_node() && draft.name == name; };
        auto found = std::ranges::find_if(parent.inside, is_it);
        if (found != parent.inside.end()) return *found;
        return parent.inside.emplace_back(Draft{name, {}, {}});
    }

    // Dissolves folds of one operator, joins folds of one fold, and divides long lists.
    Draft simplified(Draft draft) {
        std::vector<Draft> inside;
        for (auto& item : draft.inside) {
            Draft simple = item.is_node() ? std::move(item) : simplified(std::move(item));
            if (!simple.is_node() && count(simple) == 1) simple = only_node(simple);
            inside.push_back(std::move(simple));
        }
        draft.inside = std::move(inside);
        if (draft.inside.size() == 1 && !draft.inside[0].is_node()) {
            Draft only = std::move(draft.inside[0]);
            if (!draft.name.empty()) only.name = draft.name + "/" + only.name;
            return only;
        }
        draft.inside = divided(std::move(draft.inside));
        return draft;
    }
    static Draft only_node(const Draft& draft) {
        return draft.is_node() ? draft : only_node(draft.inside.front());
    }

    std::vector<Draft> divided(std::vector<Draft> items) {
        bool are_nodes = std::ranges::all_of(items, &Draft::is_node);
        if (are_nodes && items.size() > few_items) items = blocks(items);
        if (items.size() > few_items) items = with_shapes(std::move(items));
        return items.size() > most_items ? parts(std::move(items)) : items;
    }

    std::vector<Draft> blocks(const std::vector<Draft>& items) {
        std::vector<NodeId> nodes;
        for (auto& item : items) nodes.push_back(item.node[0]);
        std::vector<Draft> result;
        for (auto& block : find_blocks(graph_, nodes)) result.push_back(draft_of(block));
        return result;
    }
    Draft draft_of(const Block& block) {
        if (block.name.empty()) return node_draft(block.nodes.at(0));
        Draft draft{block.name, {}, {}};
        for (auto& inside : block.inside) draft.inside.push_back(draft_of(inside));
        if (block.inside.empty()) {
            for (NodeId id : block.nodes) draft.inside.push_back(node_draft(id));
            draft.inside =
                draft.inside.size() > few_items ? with_shapes(std::move(draft.inside)) : draft.inside;
        }
        if (draft.inside.size() > most_items) draft.inside = parts(std::move(draft.inside));
        return draft;
    }

    // Puts arithmetic on shapes into one box with the operator that needs it.
    std::vector<Draft> with_shapes(std::vector<Draft> items) {
        std::map<NodeId, size_t> place;
        for (size_t i = 0; i < items.size(); ++i)
            if (items[i].is_node()) place[items[i].node[0]] = i;
        std::vector<bool> is_taken(items.size());
        std::vector<Draft> result;
        for (size_t i = 0; i < items.size(); ++i) {
            if (!items[i].is_node() || is_shape_arithmetic(graph_, graph_.node(items[i].node[0]))) continue;
            std::set<size_t> needed;
            collect(items[i].node[0], place, is_taken, needed);
            if (needed.size() < 2) continue;
            Draft box{node_label(graph_, graph_.node(items[i].node[0])) + " and its shape", {}, {}};
            for (size_t k : needed) {
                is_taken[k] = true;
                box.inside.push_back(std::move(items[k]));
            }
            box.inside.push_back(std::move(items[i]));
            items[i] = std::move(box);
        }
        for (size_t i = 0; i < items.size(); ++i)
            if (!is_taken[i]) result.push_back(std::move(items[i]));
        return result;
    }
    void collect(NodeId reader, const std::map<NodeId, size_t>& place, const std::vector<bool>& is_taken,
                 std::set<size_t>& needed) const {
        for (ValueId id : graph_.node(reader).inputs) {
            if (id == no_value) continue;
            NodeId maker = graph_.value(id).producer;
            auto found = place.find(maker);
            if (found == place.end() || is_taken[found->second] || needed.contains(found->second)) continue;
            if (!is_shape_arithmetic(graph_, graph_.node(maker))) continue;
            needed.insert(found->second);
            collect(maker, place, is_taken, needed);
        }
    }

    static std::vector<Draft> parts(std::vector<Draft> items) {
        size_t size = most_items / 2;
        while (items.size() / size >= most_items) size *= 2;
        std::vector<Draft> result;
        for (size_t i = 0; i < items.size(); i += size) {
            size_t end = std::min(items.size(), i + size);
            Draft part{text("part ", i / size + 1), {}, {}};
            for (size_t k = i; k < end; ++k) part.inside.push_back(std::move(items[k]));
            if (part.inside.size() > most_items) part.inside = parts(std::move(part.inside));
            result.push_back(std::move(part));
        }
        return result;
    }

    int add(const Draft& draft, int parent) {
        int index = int(tree_.folds.size());
        tree_.folds.push_back({draft.name, parent, {}, {}, 0});
        for (auto& item : draft.inside) {
            FoldItem added =
                item.is_node() ? FoldItem{false, item.node[0]} : FoldItem{true, add(item, index)};
            tree_.folds[size_t(index)].items.push_back(added);
        }
        return index;
    }
    void finish() {
        tree_.fold_of.assign(graph_.nodes().size(), 0);
        for (size_t i = tree_.folds.size(); i-- > 0;) {
            auto& fold = tree_.folds[i];
            for (auto& item : fold.items) {
                if (!item.is_fold) {
                    fold.nodes.push_back(item.index);
                    tree_.fold_of[size_t(item.index)] = int(i);
                    continue;
                }
                auto& inner = tree_.folds[size_t(item.index)];
                fold.nodes.insert(fold.nodes.end(), inner.nodes.begin(), inner.nodes.end());
                fold.height = std::max(fold.height, inner.height + 1);
            }
            std::ranges::sort(fold.nodes);
        }
    }

    const Graph& graph_;
    FoldTree tree_;
};

}  // namespace

bool is_shape_arithmetic(const Graph& graph, const Node& node) {
    constexpr double most_elements = 16;
    return !node.outputs.empty() && std::ranges::all_of(node.outputs, [&](ValueId id) {
        auto& spec = graph.value(id).spec;
        return (spec.dtype == DType::i32 || spec.dtype == DType::i64) && spec.shape.is_known() &&
               spec.shape.rank() <= 1 && element_count(spec) <= most_elements;
    });
}

FoldTree fold_graph(const Graph& graph) { return Folding(graph).tree(); }

}  // namespace mge::dump
