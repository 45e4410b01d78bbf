// SPDX-License-Identifier: Apache-2.0
// Decision trees, as the operator of ONNX's domain of classical learning that names each node of each tree.

#include <algorithm>
#include <map>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/trees/tree_ensemble.h"

namespace mge::to_onnx {
namespace {

constexpr std::string_view mode_names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                           "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
constexpr std::string_view aggregate_names[] = {"SUM", "AVERAGE", "MIN", "MAX"};

// The lists of the operator, one entry for each node, and for each weight of a leaf.
struct Lists {
    IntList trees, nodes, features, first, second, missing;
    FloatList thresholds;
    std::vector<std::string> modes;
    IntList weight_trees, weight_nodes, targets;
    FloatList weights;
};

// The tables of the trees: nothing in them is trusted.
class Forest {
public:
    explicit Forest(Site& s) {
        for (size_t i = 0; i < 8; ++i) {
            parts_[i] = s.constant_of(i + 1);
            if (!parts_[i]) unsupported("trees that are not constants");
        }
        count_ = parts_[0].spec().numel();
        targets_ = s.params<ops::TreeEnsemble>().targets;
    }

    Lists lists() {
        auto* roots = parts_[5].data<int32_t>();
        for (int64_t i = 0; i < parts_[5].spec().numel(); ++i) add_tree(i, roots[i]);
        return lists_;
    }

private:
    void add_tree(int64_t tree, int64_t root) {
        std::map<int64_t, int64_t> numbers{{root, 0}};  // numbers of the nodes in this tree
        IntList open{root};
        for (size_t next = 0; next < open.size(); ++next) {
            int64_t node = open[next];
            if (node < 0 || node >= count_) unsupported("a node ", node, " of ", count_);
            auto* children = parts_[3].data<int32_t>() + 2 * node;
            auto question = std::min<size_t>(parts_[0].data<uint8_t>()[node], std::size(mode_names) - 1);
            bool is_leaf = question == size_t(ops::TreeQuestion::leaf);
            bool missing = parts_[4].data<uint8_t>()[node];
            if (question == size_t(ops::TreeQuestion::different) && !missing)
                unsupported("a node that compares for inequality with NaN");
            IntList places{0, 0};
            for (size_t i = 0; i < 2 && !is_leaf; ++i) {
                places[i] = int64_t(open.size());
                open.push_back(children[i]);
                if (!numbers.emplace(children[i], places[i]).second)
                    unsupported("a node that has two parents");
            }
            lists_.trees.push_back(tree);
            lists_.nodes.push_back(int64_t(next));
            lists_.features.push_back(is_leaf ? 0 : parts_[1].data<int32_t>()[node]);
            lists_.thresholds.push_back(is_leaf ? 0 : double(parts_[2].data<float>()[node]));
            lists_.first.push_back(places[0]);
            lists_.second.push_back(places[1]);
            lists_.missing.push_back(missing);
            lists_.modes.emplace_back(mode_names[question]);
            if (is_leaf) add_leaf(tree, int64_t(next), children[0], children[1]);
        }
    }

    void add_leaf(int64_t tree, int64_t node, int64_t begin, int64_t end) {
        if (begin < 0 || end > parts_[6].spec().numel())
            unsupported("a leaf that has the rows ", begin, " to ", end);
        for (int64_t i = begin; i < end; ++i) {
            int64_t target = parts_[6].data<int32_t>()[i];
            if (target < 0 || target >= targets_) unsupported("target ", target, " of ", targets_);
            lists_.weight_trees.push_back(tree);
            lists_.weight_nodes.push_back(node);
            lists_.targets.push_back(target);
            lists_.weights.push_back(double(parts_[7].data<float>()[i]));
        }
    }

    Tensor parts_[8];  // from `questions` on
    int64_t count_ = 0, targets_ = 0;
    Lists lists_;
};

Operands export_tree_ensemble(Site& s) {
    auto& p = s.params<ops::TreeEnsemble>();
    Lists lists = Forest(s).lists();
    if (lists.nodes.empty() || lists.targets.empty()) unsupported("no trees, or no leaf with a weight");
    return {s.emit("ai.onnx.ml.TreeEnsembleRegressor", {s.in(0)},
                   {{"aggregate_function", std::string(aggregate_names[size_t(p.aggregate)])},
                    {"n_targets", p.targets},
                    {"nodes_treeids", lists.trees},
                    {"nodes_nodeids", lists.nodes},
                    {"nodes_featureids", lists.features},
                    {"nodes_modes", lists.modes},
                    {"nodes_values", lists.thresholds},
                    {"nodes_truenodeids", lists.first},
                    {"nodes_falsenodeids", lists.second},
                    {"nodes_missing_value_tracks_true", lists.missing},
                    {"target_treeids", lists.weight_trees},
                    {"target_nodeids", lists.weight_nodes},
                    {"target_ids", lists.targets},
                    {"target_weights", lists.weights}})};
}

}  // namespace

ExportRows tree_ensemble_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::TreeEnsemble::info, export_tree_ensemble, "ai.onnx.ml.TreeEnsembleRegressor"},
    };
    return rows;
}

}  // namespace mge::to_onnx
