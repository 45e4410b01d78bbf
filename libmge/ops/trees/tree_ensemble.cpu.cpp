// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/trees/tree_ensemble.h"

#include <algorithm>
#include <span>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::trees {

#include "libmge/kernel/scalar/trees.inc"

static_assert(at_most == int(ops::TreeQuestion::at_most) && below == int(ops::TreeQuestion::below) &&
              at_least == int(ops::TreeQuestion::at_least) && above == int(ops::TreeQuestion::above) &&
              equal == int(ops::TreeQuestion::equal) && different == int(ops::TreeQuestion::different) &&
              leaf == int(ops::TreeQuestion::leaf));
static_assert(sum == int(ops::TreeAggregate::sum) && average == int(ops::TreeAggregate::average) &&
              min == int(ops::TreeAggregate::min) && max == int(ops::TreeAggregate::max));

}  // namespace mge::trees

namespace mge::ops {
namespace {

// So many rows go through a tree before the next one comes, which stays in the cache meanwhile; for fewer,
// putting the nodes side by side would cost more than it saves.
constexpr int64_t rows_per_block = 64;

struct Node {
    float threshold;
    int32_t feature;
    int32_t children[2];
    uint8_t question, missing;
};

bool takes_first_branch(const Node& node, float x) {
    return trees::takes_first_branch(node.question, node.threshold, node.missing != 0, x);
}

bool is_leaf(const Node& node) { return node.question >= trees::leaf; }

// The operands of a call. Nothing that a file says is believed: a node is checked when it is read.
class Trees {
public:
    Trees(const ProblemState<TreeEnsemble::Params>& problem, const Launch& launch)
        : params_(problem.params),
          launch_(launch),
          features_(problem.inputs[0].shape[1]),
          nodes_(problem.inputs[1].shape[0]),
          roots_(launch.in<int32_t>(6), size_t(problem.inputs[6].shape[0])),
          targets_(launch.in<int32_t>(7), size_t(problem.inputs[7].shape[0])) {}

    std::span<const int32_t> roots() const { return roots_; }
    int64_t nodes() const { return nodes_; }
    const float* row(int64_t i) const { return launch_.in<float>(0) + i * features_; }

    int64_t checked_root(int64_t root) const {
        if (root < 0 || root >= nodes_) refuse("root ", root, " of ", nodes_, " nodes");
        return root;
    }
    Node node(int64_t i) const {
        auto* children = launch_.in<int32_t>(4) + 2 * i;
        Node node{launch_.in<float>(3)[i],
                  launch_.in<int32_t>(2)[i],
                  {children[0], children[1]},
                  launch_.in<uint8_t>(1)[i],
                  launch_.in<uint8_t>(5)[i]};
        if (is_leaf(node)) {
            if (children[0] < 0 || children[1] < children[0] || children[1] > int64_t(targets_.size()))
                refuse("leaf ", i, " has rows ", children[0], " to ", children[1], " of ", targets_.size());
            return node;
        }
        if (node.feature < 0 || node.feature >= features_)
            refuse("node ", i, " reads feature ", node.feature, " of ", features_);
        for (int64_t child : node.children)
            if (child <= i || child >= nodes_)
                refuse("node ", i, " of ", nodes_, " has the child ", child, ", which must come after it");
        return node;
    }

    // The effect of a leaf on the sums of a row.
    void add(const Node& leaf, float* y, uint8_t* is_set) const {
        auto* weights = launch_.in<float>(8);
        for (int32_t i = leaf.children[0]; i < leaf.children[1]; ++i) {
            int64_t target = targets_[size_t(i)];
            if (target < 0 || target >= params_.targets)
                refuse("a leaf adds to target ", target, " of ", params_.targets);
            float& sum = y[target];
            sum = is_set[target] ? trees::together(int(params_.aggregate), sum, weights[i]) : weights[i];
            is_set[target] = 1;
        }
    }
    void finish(float* y) const {
        if (params_.aggregate != TreeAggregate::average || roots_.empty()) return;
        for (int64_t i = 0; i < params_.targets; ++i) y[i] /= float(roots_.size());
    }

private:
    template <class... Args>
    [[noreturn]] static void refuse(const Args&... what) {
        throw_value_error(TreeEnsemble::name, what...);
    }

    const TreeEnsemble::Params& params_;
    const Launch& launch_;
    int64_t features_, nodes_;
    std::span<const int32_t> roots_, targets_;
};

// Calls fn(begin, end, y, is_set) for parts of the rows, whose results are zeros before.
template <class Fn>
void for_rows(const ProblemState<TreeEnsemble::Params>& problem, const Launch& launch, const Fn& fn) {
    int64_t rows = problem.inputs[0].shape[0], targets = problem.params.targets;
    auto* y = launch.out<float>(0);
    std::fill_n(y, rows * targets, 0.f);
    int64_t blocks = ceil_div(rows, rows_per_block);
    par_for(launch.threads, blocks, 1, [&](int64_t first, int64_t last) {
        std::vector<uint8_t> is_set(size_t(rows_per_block * targets));
        for (int64_t block = first; block < last; ++block) {
            std::ranges::fill(is_set, uint8_t(0));
            int64_t begin = block * rows_per_block, end = std::min(rows, begin + rows_per_block);
            fn(begin, end, y + begin * targets, is_set.data());
        }
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<TreeEnsemble::Params>>();
    Trees trees(problem, launch);
    int64_t targets = problem.params.targets;
    for_rows(problem, launch, [&](int64_t begin, int64_t end, float* y, uint8_t* is_set) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t at = (row - begin) * targets;
            for (int64_t root : trees.roots()) {
                Node node = trees.node(trees.checked_root(root));
                while (!is_leaf(node))
                    node = trees.node(
                        node.children[takes_first_branch(node, trees.row(row)[node.feature]) ? 0 : 1]);
                trees.add(node, y + at, is_set + at);
            }
            trees.finish(y + at);
        }
    });
}

Support supports_blocks(const Problem& problem) {
    if (problem.inputs[0].shape[0] < rows_per_block) return {"too few rows"};
    return plain_layouts(problem);
}

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<TreeEnsemble::Params>>();
    Trees trees(problem, launch);
    std::vector<Node> nodes;
    nodes.reserve(size_t(trees.nodes()));
    for (int64_t i = 0; i < trees.nodes(); ++i) nodes.push_back(trees.node(i));
    for (int64_t root : trees.roots()) trees.checked_root(root);
    int64_t targets = problem.params.targets;
    for_rows(problem, launch, [&](int64_t begin, int64_t end, float* y, uint8_t* is_set) {
        for (int64_t root : trees.roots())
            for (int64_t row = begin; row < end; ++row) {
                auto* x = trees.row(row);
                const Node* node = &nodes[size_t(root)];
                while (!is_leaf(*node))
                    node =
                        &nodes[size_t(node->children[takes_first_branch(*node, x[node->feature]) ? 0 : 1])];
                trees.add(*node, y + (row - begin) * targets, is_set + (row - begin) * targets);
            }
        for (int64_t row = begin; row < end; ++row) trees.finish(y + (row - begin) * targets);
    });
}

}  // namespace

KernelList kernels(Cpu, TreeEnsemble) {
    static constexpr Algorithm list[] = {
        {"blocks", supports_blocks, copy_problem<TreeEnsemble::Params>, run_blocks},
        {"reference", plain_layouts, copy_problem<TreeEnsemble::Params>, run_reference}};
    return list;
}

}  // namespace mge::ops
