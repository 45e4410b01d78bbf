// SPDX-License-Identifier: Apache-2.0
// Ranks of values whose sizes are known only at run time: a selection from a tensor is a vector, and each
// operator changes the rank by its own rule.

#include <algorithm>

#include "libmge/model/import/megengine/families.h"

namespace mge::megengine {
namespace {

int vector(const Site&) { return 1; }
int matrix(const Site&) { return 2; }
int same(const Site& site) { return site.rank(0); }

int highest(const Site& site) {
    int rank = 1;
    for (size_t i = 0; i < site.size(); ++i) {
        if (site.rank(i) == unknown_rank) return unknown_rank;
        rank = std::max(rank, site.rank(i));
    }
    return rank;
}

// As many axes as the target has numbers.
int of_target(const Site& site) {
    auto& target = site.in(1).shape();
    return target.is_known() && target.rank() == 1 ? int(target[0]) : unknown_rank;
}

int reduced(const Site& site) { return site.size() > 1 ? of_target(site) : same(site); }

int of_pattern(const Site& site) {
    auto* pattern = site.params<file::Dimshuffle>().pattern();
    return pattern ? int(pattern->size()) : 1;
}

int axes_changed(const Site& site) {
    auto* steps = site.params<file::AxisAddRemove>().desc();
    int rank = site.rank(0);
    for (flatbuffers::uoffset_t i = 0; rank != unknown_rank && steps && i < steps->size(); ++i)
        rank = steps->Get(i)->method() == file::AxisDescMethod::ADD_1 ? rank + 1 : std::max(rank - 1, 1);
    return rank;
}

int indexed_axes(const Site& site) {
    auto* items = site.params<file::IndexDescMaskDump>().items();
    int axes = 0;
    for (flatbuffers::uoffset_t i = 0; items && i < items->size(); ++i) axes += items->Get(i)->idx();
    return axes;
}

int sliced(const Site& site) {
    int rank = site.rank(0);
    return rank == unknown_rank ? rank : std::max(rank - indexed_axes(site), 1);
}

// The index tensors, which come last, make axes in place of those that they index.
int taken(const Site& site) {
    int rank = site.rank(0), axes = indexed_axes(site), index = 1;
    if (rank == unknown_rank || size_t(axes) >= site.size()) return unknown_rank;
    for (size_t i = site.size() - size_t(axes); i < site.size(); ++i) {
        if (site.rank(i) == unknown_rank) return unknown_rank;
        index = std::max(index, site.rank(i));
    }
    return axes ? rank - axes + index : rank;
}

struct Rule {
    std::string_view type;
    int (*rank)(const Site&);
};
// Sorted.
constexpr Rule rules[] = {
    {"Argmax", same},
    {"Argmin", same},
    {"Argsort", same},
    {"AxisAddRemove", axes_changed},
    {"BatchNorm", same},
    {"Broadcast", of_target},
    {"Concat", same},
    {"CondTake", vector},
    {"ConvBiasForward", same},
    {"Convolution", same},
    {"Copy", same},
    {"Cumsum", same},
    {"Dimshuffle", of_pattern},
    {"Elemwise", highest},
    {"ElemwiseMultiType", highest},
    {"GetVarShape", vector},
    {"Identity", same},
    {"IncrSubtensor", same},
    {"IndexingMultiAxisVec", taken},
    {"IndexingSetMultiAxisVec", same},
    {"LayerNorm", same},
    {"MatrixMul", matrix},
    {"Padding", same},
    {"Pooling", same},
    {"PowC", same},
    {"Reduce", reduced},
    {"Reshape", of_target},
    {"SetSubtensor", same},
    {"Softmax", same},
    {"Split", same},
    {"Subtensor", sliced},
    {"TopK", same},
    {"TypeCvt", same},
    {"Where", same},
};

}  // namespace

int rank_of_results(const Site& site) {
    auto rule = std::ranges::lower_bound(rules, site.op.type, {}, &Rule::type);
    int rank = rule != std::end(rules) && rule->type == site.op.type ? rule->rank(site) : unknown_rank;
    return rank > max_rank ? unknown_rank : rank;
}

}  // namespace mge::megengine
