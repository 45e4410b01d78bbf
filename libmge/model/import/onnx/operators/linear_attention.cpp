// SPDX-License-Identifier: Apache-2.0
// Linear attention: the memory of earlier steps is one matrix per head, which is read and written step by
// step.

#include <cmath>

#include "libmge/base/number_text.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// How a step changes the memory: it decays, and its value for the key is subtracted.
struct Rule {
    bool fades, corrects;
};

Rule rule_of(const Site& site) {
    std::string name = site.attributes.word("update_rule", "gated_delta");
    Rule rule{name == "gated" || name == "gated_delta", name == "delta" || name == "gated_delta"};
    if (!rule.fades && !rule.corrects && name != "linear") unsupported("the rule '", name, "'");
    if (rule.fades != site.has(4) || rule.corrects != site.has(5))
        invalid("its inputs decay and beta do not fit the rule '", name, "'");
    return rule;
}

int64_t width_of(const Site& site, size_t i) {
    if (site.rank(i) != 3) invalid("input ", i, " has rank ", site.rank(i), ", expected 3");
    if (auto width = find_extent(site.in(i), 2)) return *width;
    unsupported("an open width");
}

// (batch, steps, heads * width) => (steps, batch, heads, …), in f32.
Tensor in_steps_of(const Site& site, size_t i, IntList heads) {
    Tensor x = as_float(site.in(i));
    std::vector<Extent> extents{extent_of(x, 0), extent_of(x, 1)};
    extents.insert(extents.end(), heads.begin(), heads.end());
    return moved_axis(reshaped(x, extents), 1, 0);
}

// The decay is one number for each head, or for each element of its keys.
Tensor decay_of(const Site& site, int64_t heads, int64_t keys) {
    int64_t width = width_of(site, 4);
    if (width != heads && width != heads * keys)
        invalid("its decay has ", counted(width, "number"), " for ", counted(heads, "head"));
    return ops::exp(in_steps_of(site, 4, {heads, width / heads, 1}));
}
Tensor rate_of(const Site& site, int64_t heads) {
    int64_t width = width_of(site, 5);
    if (width != heads && width != 1)
        invalid("its beta has ", counted(width, "number"), " for ", counted(heads, "head"));
    return in_steps_of(site, 5, {width, 1, 1});
}

// Slices of a step: queries (batch, heads, shared, keys), keys (…, keys, 1), values (…, 1, values), then a
// decay and a rate where the rule has them.
Tensors step(const Rule& rule, std::span<const Tensor> in) {
    Tensor memory = in[0], queries = in[1], key = in[2], value = in[3];
    if (rule.fades) memory = ops::mul(memory, in[4]);
    if (rule.corrects) {
        Tensor held = ops::sum(ops::mul(memory, key), {.axes = {2}, .keepdims = true});
        value = ops::mul(in.back(), ops::sub(value, held));
    }
    memory = ops::add(memory, ops::mul(key, value));
    return {memory, ops::matmul(queries, memory)};
}

Tensors import_linear_attention(const Site& site) {
    site.attributes.integer("chunk_size", 0);
    Rule rule = rule_of(site);
    int64_t heads = site.attributes.integer("kv_num_heads", 0),
            all = site.attributes.integer("q_num_heads", 0);
    if (heads < 1 || all < 1 || all % heads)
        invalid("its ", counted(all, "query head"), " cannot share ", counted(heads, "key head"));
    int64_t width = width_of(site, 0), keys = width / all, values = width_of(site, 2) / heads;
    if (width % all || width_of(site, 1) != keys * heads || width_of(site, 2) % heads)
        invalid(all, " and ", counted(heads, "head"), " in ", width, " and ",
                counted(width_of(site, 1), "element"));
    const Tensor& x = site.in(0);
    Tensors operands{site.has(3) ? as_float(site.in(3))
                                 : Tensor(ops::full(target_of({extent_of(x, 0), heads, keys, values}),
                                                    {.dtype = DType::f32})),
                     in_steps_of(site, 0, {heads, all / heads, keys}), in_steps_of(site, 1, {heads, keys, 1}),
                     in_steps_of(site, 2, {heads, 1, values})};
    if (rule.fades) operands.push_back(decay_of(site, heads, keys));
    if (rule.corrects) operands.push_back(rate_of(site, heads));
    TensorSpecs specs = specs_of(operands);
    for (size_t i = 1; i < specs.size(); ++i) specs[i].shape.erase(0);
    auto sliced = int64_t(operands.size()) - 1;
    Tensors captured;
    auto body = capture_subgraph(specs, captured, [&](std::span<const Tensor> in) { return step(rule, in); });
    operands.insert(operands.end(), captured.begin(), captured.end());
    Tensors results = ops::scan(TensorList(operands), {.body = body, .carried = 1, .sliced = sliced});
    // (steps, batch, heads, shared, values) => (batch, steps, all)
    Tensor y = ops::flatten(moved_axis(results[1], 0, 1), {.start = 2, .end = 4});
    double scale = site.attributes.number("scale", 0);
    y = ops::mul(y, real(scale ? scale : 1 / std::sqrt(double(keys))));
    DType memory = site.has(3) ? site.in(3).dtype() : x.dtype();
    return {as_dtype(y, x.dtype()), as_dtype(results[0], memory)};
}

}  // namespace

ImportRows linear_attention_rows() {
    static constexpr ImportRow rows[] = {
        {"LinearAttention", import_linear_attention, 27},
    };
    return rows;
}

}  // namespace mge::onnx
