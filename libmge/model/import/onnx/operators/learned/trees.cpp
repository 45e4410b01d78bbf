// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees: the tables of a file are converted to those of our operator, with each node
// before its children.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/operators/learned/learned.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/trees/tree_ensemble.h"

namespace mge::onnx {
namespace {

using ops::TreeQuestion;

// A node of the file by its number there, or a leaf.
struct FileNode {
    TreeQuestion question = TreeQuestion::leaf;
    int64_t feature = 0, first = 0, second = 0;
    double threshold = 0;
    bool missing = false;
    FloatList members;                              // instead of a threshold: equal to one of them
    std::vector<std::pair<int64_t, double>> gives;  // targets and weights of a leaf
};

struct FileTrees {
    std::vector<FileNode> nodes;
    IntList roots;
    int64_t targets = 1;
};

class Tables {
public:
    void add_tree(const FileTrees& trees, int64_t root) {
        std::vector<Place> rest{{root, {}}};
        roots_.push_back(int32_t(questions_.size()));
        while (!rest.empty()) {
            Place place = rest.back();
            rest.pop_back();
            if (place.node < 0 || size_t(place.node) >= trees.nodes.size())
                invalid("a tree has no node ", place.node);
            if (!seen_.insert(place.node).second)
                invalid("node ", place.node, " of its trees has two parents");
            for (size_t slot : place.slots) children_[slot] = int32_t(questions_.size());
            add_node(trees.nodes[size_t(place.node)], rest);
        }
    }
    Tensor apply(const Tensor& x, const ops::TreeEnsemble::Params& p) const {
        auto n = int64_t(questions_.size()), weights = int64_t(weights_.size());
        return ops::tree_ensemble(
            {x, tensor(DType::u8, {n}, questions_.data()), tensor(DType::i32, {n}, features_.data()),
             tensor(DType::f32, {n}, thresholds_.data()), tensor(DType::i32, {n, 2}, children_.data()),
             tensor(DType::u8, {n}, missing_.data()),
             tensor(DType::i32, {int64_t(roots_.size())}, roots_.data()),
             tensor(DType::i32, {weights}, leaves_.data()), tensor(DType::f32, {weights}, weights_.data())},
            p);
    }

private:
    // A node that is to come, and where its parents say so.
    struct Place {
        int64_t node;
        std::vector<size_t> slots;
    };
    static Tensor tensor(DType dtype, const Shape& shape, const void* data) {
        return tensor_from_host({dtype, shape, {}}, data, host_device);
    }
    void add_row(TreeQuestion question, const FileNode& node, double threshold, int64_t first,
                 int64_t second) {
        questions_.push_back(uint8_t(question));
        features_.push_back(int32_t(std::clamp<int64_t>(node.feature, -1, INT32_MAX)));
        thresholds_.push_back(float(threshold));
        missing_.push_back(node.missing);
        children_.push_back(int32_t(first));
        children_.push_back(int32_t(second));
    }
    void add_node(const FileNode& node, std::vector<Place>& rest) {
        if (node.question == TreeQuestion::leaf) {
            auto begin = int64_t(leaves_.size());
            for (auto& [target, weight] : node.gives) {
                leaves_.push_back(int32_t(std::clamp<int64_t>(target, -1, INT32_MAX)));
                weights_.push_back(float(weight));
            }
            return add_row(TreeQuestion::leaf, node, 0, begin, int64_t(leaves_.size()));
        }
        // A set of several values: a question for each.
        FloatList thresholds = node.members.empty() ? FloatList{node.threshold} : node.members;
        Place first{node.first, {}};
        for (size_t i = 0; i < thresholds.size(); ++i) {
            first.slots.push_back(children_.size());
            add_row(node.question, node, thresholds[i], 0, int64_t(questions_.size()) + 1);
        }
        Place second{node.second, {children_.size() - 1}};
        rest.push_back(second);
        rest.push_back(first);
    }

    std::vector<uint8_t> questions_, missing_;
    std::vector<int32_t> features_, children_, roots_, leaves_;
    std::vector<float> thresholds_, weights_;
    std::set<int64_t> seen_;
};

struct NodeMode {
    std::string_view name;
    TreeQuestion question;
};
constexpr NodeMode node_modes[] = {{"BRANCH_LEQ", TreeQuestion::at_most},
                                   {"BRANCH_LT", TreeQuestion::below},
                                   {"BRANCH_GTE", TreeQuestion::at_least},
                                   {"BRANCH_GT", TreeQuestion::above},
                                   {"BRANCH_EQ", TreeQuestion::equal},
                                   {"BRANCH_NEQ", TreeQuestion::different},
                                   {"LEAF", TreeQuestion::leaf}};

TreeQuestion question_of(std::string_view mode) {
    auto found = std::ranges::find(node_modes, mode, &NodeMode::name);
    if (found == std::end(node_modes)) unsupported("node mode '", mode, "'");
    return found->question;
}

using NodeName = std::pair<int64_t, int64_t>;  // tree and node

// Lists of one number per node; `what` is "target" or "class".
FileTrees listed_trees(const Site& site, const std::string& what) {
    auto ints = [&](const std::string& name) { return site.attributes.integers(name).value_or(IntList()); };
    IntList tree_ids = ints("nodes_treeids"), node_ids = ints("nodes_nodeids"),
            features = ints("nodes_featureids"), first = ints("nodes_truenodeids"),
            second = ints("nodes_falsenodeids"), missing = ints("nodes_missing_value_tracks_true");
    auto modes = site.attributes.words("nodes_modes");
    FloatList values = numbers_or_tensor(site, "nodes_values");
    site.attributes.has("nodes_hitrates");
    site.attributes.has("nodes_hitrates_as_tensor");
    size_t count = tree_ids.size();
    bool fits = node_ids.size() == count && features.size() == count && first.size() == count &&
                second.size() == count && modes.size() == count && values.size() == count &&
                (missing.empty() || missing.size() == count);
    if (!fits) invalid("its lists of nodes differ in length");
    std::map<NodeName, int64_t> places;
    FileTrees trees;
    std::set<int64_t> begun;
    for (size_t i = 0; i < count; ++i) {
        if (!places.emplace(NodeName{tree_ids[i], node_ids[i]}, int64_t(i)).second)
            invalid("node ", node_ids[i], " of tree ", tree_ids[i], " is listed twice");
        if (begun.insert(tree_ids[i]).second) trees.roots.push_back(int64_t(i));
    }
    auto place_of = [&](int64_t tree, int64_t node) {
        auto found = places.find({tree, node});
        if (found == places.end()) invalid("tree ", tree, " has no node ", node);
        return found->second;
    };
    for (size_t i = 0; i < count; ++i) {
        FileNode node{.question = question_of(modes[i]), .feature = features[i], .threshold = values[i]};
        node.missing = !missing.empty() && missing[i];
        if (node.question != TreeQuestion::leaf) {
            node.first = place_of(tree_ids[i], first[i]);
            node.second = place_of(tree_ids[i], second[i]);
        }
        trees.nodes.push_back(node);
    }
    IntList leaf_trees = ints(what + "_treeids"), leaf_nodes = ints(what + "_nodeids"),
            targets = ints(what + "_ids");
    FloatList weights = numbers_or_tensor(site, what + "_weights");
    if (leaf_nodes.size() != leaf_trees.size() || targets.size() != leaf_trees.size() ||
        weights.size() != leaf_trees.size())
        invalid("its lists of weights differ in length");
    for (size_t i = 0; i < targets.size(); ++i)
        trees.nodes[size_t(place_of(leaf_trees[i], leaf_nodes[i]))].gives.emplace_back(targets[i],
                                                                                       weights[i]);
    return trees;
}

ops::TreeAggregate aggregate_of(const Site& site) {
    std::string how = site.attributes.word("aggregate_function", "SUM");
    static constexpr std::string_view names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    auto found = std::ranges::find(names, how);
    if (found == std::end(names)) unsupported("aggregate_function '", how, "'");
    return ops::TreeAggregate(found - std::begin(names));
}

Tensor answers(TreeQuestion question, const Tensor& x, const Tensor& thresholds) {
    switch (question) {
        case TreeQuestion::at_most:
            return ops::less_equal(x, thresholds);
        case TreeQuestion::below:
            return ops::less(x, thresholds);
        case TreeQuestion::at_least:
            return ops::greater_equal(x, thresholds);
        case TreeQuestion::above:
            return ops::greater(x, thresholds);
        case TreeQuestion::equal:
            return ops::equal(x, thresholds);
        default:
            return ops::not_equal(x, thresholds);
    }
}

// Different f64 numbers may be equal as f32. So their questions are evaluated before, each once for all rows,
// and the trees read the answer, 0 or 1, from a separate column.
Tensor answered(const Tensor& x, FileTrees& trees) {
    std::map<TreeQuestion, std::vector<FileNode*>> nodes_by_question;
    for (auto& node : trees.nodes) {
        if (!node.members.empty()) unsupported("sets of numbers in float64 trees");
        if (node.question != TreeQuestion::leaf) nodes_by_question[node.question].push_back(&node);
    }
    Tensors columns;
    int64_t column = 0;
    for (auto& [question, nodes] : nodes_by_question) {
        IntList features;
        FloatList thresholds;
        for (auto* node : nodes) {
            features.push_back(node->feature);
            thresholds.push_back(node->threshold);
            node->feature = column++;
            node->question = TreeQuestion::above;
            node->threshold = 0.5;
        }
        Tensor own = ops::take({x, as_index(vector_of(features))}, {.axes = {1}});
        Tensor answer = as_dtype(answers(question, own, float_table(thresholds, 0, DType::f64)), DType::f32);
        columns.push_back(ops::where(ops::isnan(own), real(std::nan("")), answer));
    }
    return columns.empty() ? table_of(x) : joined_columns(columns);
}

Tensor grown(const Site& site, FileTrees trees, ops::TreeAggregate aggregate) {
    Tensor x = site.in(0);
    bool is_double = x.dtype() == DType::f64 && rank_of(x) == 2;
    x = is_double ? answered(x, trees) : table_of(x);
    Tables tables;
    for (int64_t root : trees.roots) tables.add_tree(trees, root);
    return tables.apply(x, {.targets = trees.targets, .aggregate = aggregate});
}

// Version 5: leaves have separate lists, and follow the nodes here.
FileTrees numbered_trees(const Site& site) {
    auto ints = [&](const std::string& name) { return site.attributes.integers(name).value_or(IntList()); };
    IntList features = ints("nodes_featureids"), first = ints("nodes_truenodeids"),
            second = ints("nodes_falsenodeids"), first_leaves = ints("nodes_trueleafs"),
            second_leaves = ints("nodes_falseleafs"), missing = ints("nodes_missing_value_tracks_true"),
            targets = ints("leaf_targetids");
    FloatList splits = tensor_numbers(site, "nodes_splits"), modes = tensor_numbers(site, "nodes_modes"),
              weights = tensor_numbers(site, "leaf_weights"),
              members = tensor_numbers(site, "membership_values");
    site.attributes.has("nodes_hitrates");
    size_t count = features.size();
    bool fits = first.size() == count && second.size() == count && first_leaves.size() == count &&
                second_leaves.size() == count && splits.size() == count && modes.size() == count &&
                (missing.empty() || missing.size() == count) && weights.size() == targets.size();
    if (!fits) invalid("its lists of nodes differ in length");
    FileTrees trees{.roots = ints("tree_roots")};
    auto child = [&](int64_t place, int64_t is_leaf) {
        int64_t most = is_leaf ? int64_t(targets.size()) : int64_t(count);
        if (place < 0 || place >= most)
            invalid("a node has the child ", place, ", but there are ", counted(most, "node"));
        return place + (is_leaf ? int64_t(count) : 0);
    };
    constexpr int member = 6;
    size_t next_member = 0;
    for (size_t i = 0; i < count; ++i) {
        int mode = int(modes[i]);
        if (mode < 0 || mode > member) unsupported("node mode ", mode);
        FileNode node{.question = mode == member ? TreeQuestion::equal : TreeQuestion(mode),
                      .feature = features[i],
                      .first = child(first[i], first_leaves[i]),
                      .second = child(second[i], second_leaves[i]),
                      .threshold = splits[i]};
        node.missing = !missing.empty() && missing[i];
        if (mode == member) {
            while (next_member < members.size() && !std::isnan(members[next_member]))
                node.members.push_back(members[next_member++]);
            ++next_member;
            // The empty set contains no value.
            if (node.members.empty()) node.members.push_back(std::nan(""));
        }
        trees.nodes.push_back(node);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
        FileNode leaf;
        leaf.gives.emplace_back(targets[i], weights[i]);
        trees.nodes.push_back(leaf);
    }
    return trees;
}

// Several nodes may lead to one leaf.
void part_leaves(FileTrees& trees) {
    std::set<int64_t> taken;
    for (size_t i = 0, count = trees.nodes.size(); i < count; ++i) {
        if (trees.nodes[i].question == TreeQuestion::leaf) continue;
        for (auto which : {&FileNode::first, &FileNode::second}) {
            int64_t child = trees.nodes[i].*which;
            if (trees.nodes[size_t(child)].question != TreeQuestion::leaf || taken.insert(child).second)
                continue;
            trees.nodes[i].*which = int64_t(trees.nodes.size());
            FileNode copy = trees.nodes[size_t(child)];
            trees.nodes.push_back(copy);
        }
    }
}

// Two classes, where the trees have one: its score is a probability if no weight is negative.
Tensors binary(const Site& site, const Tensor& score, bool is_probability) {
    Tensor is_second = ops::greater(score, number(score, is_probability ? 0.5 : 0));
    std::string how = site.attributes.word("post_transform", "NONE");
    Tensor other = is_probability ? ops::sub(number(score, 1), score) : ops::neg(score);
    if (how != "NONE" && (is_probability || how != "LOGISTIC"))
        unsupported("post_transform '", how, "' of one score");
    return {as_index(is_second), transformed(joined_columns({other, score}), how)};
}

Tensors import_tree_ensemble_regressor(const Site& site) {
    FileTrees trees = listed_trees(site, "target");
    trees.targets = site.attributes.integer("n_targets", 1);
    Tensor y = grown(site, trees, aggregate_of(site));
    y = with_base(y, numbers_or_tensor(site, "base_values"));
    return {transformed(y, site.attributes.word("post_transform", "NONE"))};
}

Tensors import_tree_ensemble(const Site& site) {
    FileTrees trees = numbered_trees(site);
    part_leaves(trees);
    trees.targets = site.attributes.integer("n_targets", 1);
    static constexpr ops::TreeAggregate aggregates[] = {ops::TreeAggregate::average, ops::TreeAggregate::sum,
                                                        ops::TreeAggregate::min, ops::TreeAggregate::max};
    static constexpr std::string_view transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                      "PROBIT"};
    auto how = site.attributes.integer("aggregate_function", 1),
         then = site.attributes.integer("post_transform", 0);
    if (how < 0 || how > 3 || then < 0 || then > 4)
        unsupported("aggregate_function ", how, " with post_transform ", then);
    Tensor y = transformed(grown(site, trees, aggregates[how]), transforms[then]);
    return {as_dtype(y, site.in(0).dtype())};
}

Tensors import_tree_ensemble_classifier(const Site& site) {
    Classes classes = classes_of(site);
    FileTrees trees = listed_trees(site, "class");
    std::set<int64_t> given;
    bool is_probability = true;
    for (auto& node : trees.nodes)
        for (auto& [target, weight] : node.gives) {
            given.insert(target);
            is_probability &= weight >= 0;
        }
    FloatList base = numbers_or_tensor(site, "base_values");
    if (classes.count == 2 && given.size() == 1) {
        for (auto& node : trees.nodes)
            for (auto& give : node.gives) give.first = 0;
        if (base.size() > 1) unsupported("two base values for one score");
        Tensor score = with_base(grown(site, trees, ops::TreeAggregate::sum), base);
        Tensors results = binary(site, score, is_probability);
        return {classes.at(ops::reshape(results[0], {.shape = {-1}})), results[1]};
    }
    trees.targets = classes.count;
    Tensor scores = with_base(grown(site, trees, ops::TreeAggregate::sum), base);
    return {classes.best(scores), transformed(scores, site.attributes.word("post_transform", "NONE"))};
}

}  // namespace

ImportRows trees_rows() {
    static constexpr ImportRow rows[] = {
        {"ai.onnx.ml.TreeEnsemble", import_tree_ensemble, 5, newest_learning},
        {"ai.onnx.ml.TreeEnsembleClassifier", import_tree_ensemble_classifier, 1, newest_learning},
        {"ai.onnx.ml.TreeEnsembleRegressor", import_tree_ensemble_regressor, 1, newest_learning},
    };
    return rows;
}

}  // namespace mge::onnx
