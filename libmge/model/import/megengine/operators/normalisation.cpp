// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.

#include "libmge/base/number_text.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {
namespace {

enum BatchNormMode : uint32_t { training, inference };
enum BatchNormAxes : uint32_t { dim_11hw, dim_1chw, dim_1c11, dim_111c };

Tensor flat(const Tensor& t) {
    if (!t) return t;
    return t.is_symbolic() ? ops::reshape(t, {.shape = {-1}}) : t.with_shape({t.spec().numel()});
}
Tensor optional_input(const Site& site, size_t i) { return site.size() > i ? site.in(i) : Tensor(); }

Tensors normalised_groups(const Site& site, int64_t groups, double epsilon) {
    return ops::group_norm(site.in(0), flat(optional_input(site, 1)), flat(optional_input(site, 2)),
                           {.groups = groups, .epsilon = epsilon});
}

// The axes in another order, and the pattern that restores them.
std::pair<IntList, IntList> axes_moved_last(int64_t first, int64_t end, int64_t rank) {
    IntList there, back(size_t(rank), 0);
    for (int64_t axis = 0; axis < rank; ++axis)
        if (axis < first || axis >= end) there.push_back(axis);
    for (int64_t axis = first; axis < end; ++axis) there.push_back(axis);
    for (size_t i = 0; i < there.size(); ++i) back[size_t(there[i])] = int64_t(i);
    return {there, back};
}

}  // namespace

size_t count_batch_norm(const OperatorRecord& op) {
    auto* p = op.param_type == file::OperatorParam::BN ? static_cast<const file::BN*>(op.param) : nullptr;
    return op.inputs.size() == 3 || (p && p->fwd_mode() == inference) ? 4 : 6;
}

// Inputs: x, scale, bias, mean, variance. Stored outputs: the statistics, something reserved and, last, y.
Tensors import_batch_norm(const Site& site) {
    auto& p = site.params<file::BN>();
    if (p.fwd_mode() != inference) unsupported("batch normalisation in training mode");
    if (p.param_dim() != dim_1c11) unsupported("batch normalisation over axes ", p.param_dim());
    const Tensor &mean = site.in(3), &variance = site.in(4);
    Tensor y = ops::batch_norm(site.in(0), flat(site.in(1)), flat(site.in(2)), flat(mean), flat(variance),
                               {.training = false, .epsilon = p.epsilon()})[0];
    return {mean, variance, Tensor(), y};
}

Tensors import_layer_norm(const Site& site) {
    auto& p = site.params<file::LayerNorm>();
    if (p.normalized_dim() < 1 || p.normalized_dim() > uint64_t(max_rank))
        invalid("it normalises ", counted(p.normalized_dim(), "axis", "axes"));
    return ops::layer_norm(site.in(0), optional_input(site, 1), optional_input(site, 2),
                           {.axes = int(p.normalized_dim()), .epsilon = p.eps()});
}

// Like LayerNorm, over neighbouring axes anywhere.
Tensors import_general_norm(const Site& site) {
    auto& p = site.params<file::GeneralNorm>();
    auto rank = uint64_t(rank_of(site.in(0)));
    if (p.axis_end() > rank || p.axis_start() >= p.axis_end())
        invalid("it normalises axes ", p.axis_start(), " to ", p.axis_end(), " of ", rank);
    bool is_last = p.axis_end() == rank;
    auto [there, back] = axes_moved_last(int64_t(p.axis_start()), int64_t(p.axis_end()), int64_t(rank));
    Tensor x = is_last ? site.in(0) : ops::transpose(site.in(0), {.pattern = there});
    Tensors outputs = ops::layer_norm(x, optional_input(site, 1), optional_input(site, 2),
                                      {.axes = int(p.axis_end() - p.axis_start()), .epsilon = p.eps()});
    if (!is_last) outputs[0] = ops::transpose(outputs[0], {.pattern = back});
    return outputs;
}

Tensors import_group_norm(const Site& site) {
    auto& p = site.params<file::GroupNorm>();
    if (p.format()) unsupported("group normalisation in the format ", p.format());
    return normalised_groups(site, p.group(), p.eps());
}

Tensors import_instance_norm(const Site& site) {
    auto& p = site.params<file::GroupNorm>();
    if (p.format()) unsupported("instance normalisation in the format ", p.format());
    if (rank_of(site.in(0)) < 2) invalid("an input of rank ", rank_of(site.in(0)));
    return normalised_groups(site, site.in(0).shape()[1], p.eps());
}

Tensors import_softmax(const Site& site) {
    return {ops::softmax(site.in(0), {.axis = site.params<file::Softmax>().axis()})};
}

}  // namespace mge::megengine
