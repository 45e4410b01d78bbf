// SPDX-License-Identifier: Apache-2.0
// A row per thread, which goes through one tree after the other: so the sums are made in the CPU's order.
#include "libmge/ops/trees/tree_ensemble.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace trees {
#define inline __device__ __forceinline__
#include "libmge/kernel/scalar/trees.inc"
#undef inline
}  // namespace trees

namespace {

constexpr int64_t nowhere = -1;

// The leaf that a row comes to, or nowhere. Nothing that a file says is believed.
MGE_DEVICE int64_t find_leaf(const TreeArguments& a, const float* x, int64_t node) {
    if (node < 0 || node >= a.nodes) return nowhere;
    while (a.questions[node] < trees::leaf) {
        int64_t feature = a.features[node];
        if (feature < 0 || feature >= a.columns) return nowhere;
        // Children follow their node, so this ends; the CPU requires that of both.
        const int32_t* children = a.children + 2 * node;
        for (int i = 0; i < 2; ++i)
            if (children[i] <= node || children[i] >= a.nodes) return nowhere;
        bool first =
            trees::takes_first_branch(a.questions[node], a.thresholds[node], a.missing[node], x[feature]);
        node = children[first ? 0 : 1];
    }
    const int32_t* rows = a.children + 2 * node;
    return rows[0] < 0 || rows[1] < rows[0] || rows[1] > a.leaf_rows ? nowhere : node;
}

// The effect of a leaf on the sums of a row; false if its target does not exist.
MGE_DEVICE bool add_leaf(const TreeArguments& a, int64_t leaf, float* y, uint8_t* is_set) {
    for (int64_t i = a.children[2 * leaf]; i < a.children[2 * leaf + 1]; ++i) {
        int64_t target = a.leaves[i];
        if (target < 0 || target >= a.targets) return false;
        y[target] = is_set[target] ? trees::together(a.aggregate, y[target], a.weights[i]) : a.weights[i];
        is_set[target] = 1;
    }
    return true;
}

__global__ void evaluate_trees(TreeArguments a) {
    for (int64_t row = first_piece(); row < a.rows; row += piece_step()) {
        float* y = a.y + row * a.targets;
        for (int64_t i = 0; i < a.targets; ++i) y[i] = 0;
        for (int64_t tree = 0; tree < a.trees; ++tree) {
            int64_t leaf = find_leaf(a, a.x + row * a.columns, a.roots[tree]);
            if (leaf == nowhere || !add_leaf(a, leaf, y, a.is_set + row * a.targets)) *a.fault = 1;
        }
        if (a.aggregate == trees::average && a.trees)
            for (int64_t i = 0; i < a.targets; ++i) y[i] /= float(a.trees);
    }
}

}  // namespace

void run_trees(Stream stream, const TreeArguments& x) {
    launch(evaluate_trees, grid_for(x.rows), block_threads, 0, stream, x);
}

}  // namespace mge::cuda
