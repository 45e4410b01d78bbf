// SPDX-License-Identifier: Apache-2.0
// Multi-head attention with its projections, as one operator whose weights are concatenated: those of query,
// key, value and result, (inputs, outputs) each, then their biases.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/operators/flat_weights.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {
namespace {

struct Projection {
    Tensor weight, bias;  // null: absent
    Tensor operator()(const Tensor& x) const {
        Tensor y = weight ? ops::matmul(x, weight) : x;
        return bias ? ops::add(y, bias) : y;
    }
};
struct Projections {
    Projection query, key, value, result;
};

Projections projections_of(const Site& site, const file::MultiHeadAttn& p, int64_t value_width) {
    FlatWeights weights(site, site.in(3));
    auto matrix = [&](int64_t inputs, int64_t outputs) {
        return outputs ? weights.matrix(inputs, outputs) : Tensor();
    };
    auto bias = [&](bool is_given, int64_t length) {
        return is_given && length ? weights.row(length) : Tensor();
    };
    Projections made;
    made.query.weight = matrix(p.embeding_size(), p.qproj_size());
    made.key.weight = matrix(p.k_size(), p.kproj_size());
    made.value.weight = matrix(p.v_size(), p.vproj_size());
    made.result.weight = matrix(value_width, p.oproj_size());
    made.query.bias = bias(p.qbias(), p.qproj_size());
    made.key.bias = bias(p.kbias(), p.kproj_size());
    made.value.bias = bias(p.vbias(), p.vproj_size());
    made.result.bias = bias(p.obias(), p.oproj_size());
    weights.finish();
    return made;
}

// (N, L, heads * width) to (N, heads, L, width).
Tensor per_head(const Tensor& x, int64_t heads) {
    int64_t width = x.shape()[2];
    if (width % heads) invalid("a width of ", width, " is no multiple of ", counted(heads, "head"));
    Tensor parts = ops::reshape(x, target_shape({extent_of(x, 0), extent_of(x, 1), heads, width / heads}));
    return ops::transpose(parts, {.pattern = {0, 2, 1, 3}});
}

void require_plain(const Site& site, const file::MultiHeadAttn& p) {
    enum MaskType : uint32_t { no_mask, default_mask, cudnn_mask, user_mask };
    bool has_mask = site.size() == 5;
    if (site.size() < 4 || site.size() > 5) unsupported("biases of keys and values");
    if (p.training() && (p.attn_prob() != 0 || p.out_prob() != 0)) unsupported("dropout in attention");
    if (p.add_zero_attn() || p.reslink() || p.input_order())
        unsupported("zero attention, residual links or another order of axes");
    if (p.attn_mask_type() > user_mask || p.attn_mask_type() == cudnn_mask ||
        (p.attn_mask_type() == no_mask) == has_mask)
        unsupported("attention mask type ", p.attn_mask_type(),
                    has_mask ? " with a mask" : " without a mask");
    for (size_t i = 0; i < 3; ++i)
        if (rank_of(site.in(i)) != 3) invalid("input ", i, " of rank ", rank_of(site.in(i)));
    if (p.num_heads() < 1) invalid("it has no heads");
}

}  // namespace

// Inputs: query (N, L, E), key and value (N, S, …), weights, and a mask that is added to the scores.
Tensors import_multi_head_attention(const Site& site) {
    auto& p = site.params<file::MultiHeadAttn>();
    require_plain(site, p);
    int64_t heads = p.num_heads(), value_width = p.vproj_size() ? p.vproj_size() : p.v_size();
    Projections projections = projections_of(site, p, value_width);
    Tensor query = per_head(projections.query(site.in(0)), heads);
    Tensor key = per_head(projections.key(site.in(1)), heads);
    Tensor value = per_head(projections.value(site.in(2)), heads);
    Tensor scores = ops::mul(ops::matmul(query, key, {.transpose_b = true}),
                             scalar_tensor(p.sm_scaler(), query.dtype(), host_device));
    if (site.size() == 5) {
        Tensor mask = site.in(4);
        if (site.known_rank(4) == 3)
            mask = ops::reshape(
                mask, target_shape({extent_of(query, 0), heads, extent_of(mask, 1), extent_of(mask, 2)}));
        scores = ops::add(scores, mask);
    }
    Tensor weights = ops::softmax(scores, {.axis = -1});
    Tensor y = ops::transpose(ops::matmul(weights, value), {.pattern = {0, 2, 1, 3}});
    y = ops::reshape(y, target_shape({extent_of(y, 0), extent_of(y, 1), value_width}));
    return {projections.result(y), ops::flatten(weights, {.start = 0, .end = 1}), Tensor(), Tensor()};
}

}  // namespace mge::megengine
