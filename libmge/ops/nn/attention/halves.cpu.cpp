// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/attention/attention_rows.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/attention/algorithms.h"
#include "libmge/ops/nn/attention/geometry.h"

namespace mge::ops {
namespace {

// A head of the keys with the heads of the queries that share it, as dense floats.
struct HeadsInFloats {
    AttentionShape shape;
    bool has_few_queries;
    cpu::AttentionSizes sizes;
    int64_t q, k, v, y, packed, scratch;  // floats of each

    explicit HeadsInFloats(const AttentionShape& s) : shape(s), has_few_queries(s.queries <= few_queries) {
        shape.batch = shape.shared_heads = 1;
        shape.heads = s.group();
        shape.q = {0, s.queries * s.width, s.width};
        shape.k = {0, 0, s.width};
        shape.v = {0, 0, s.value_width};
        shape.y = {0, s.queries * s.value_width, s.value_width};
        q = shape.heads * shape.q.head;
        k = s.keys * s.width;
        v = s.keys * s.value_width;
        y = shape.heads * shape.y.head;
        sizes = cpu::attention_sizes(shape);
        packed = has_few_queries ? 0 : sizes.packed;
        scratch = has_few_queries ? cpu::attend_rows_scratch(shape) : sizes.scratch;
    }
    int64_t floats() const { return q + k + v + y + packed + scratch; }

    void attend(const cpu::AttentionData& data, float* scratch_memory) const {
        if (has_few_queries)
            return cpu::attend_rows()(shape, data, 0, cpu::attend_rows_items(shape), scratch_memory);
        auto& steps = cpu::attention_functions().floats;
        steps.pack(shape, data, 0, sizes.pack_items);
        steps.attend(shape, data, 0, sizes.items, scratch_memory);
    }
};

struct State {
    AttentionShape shape;
    HeadsInFloats inner;
    DType dtype;
    int threads;
    int64_t mask;  // elements

    int64_t items() const { return shape.batch * shape.shared_heads; }
};

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    const DType dtype = p.inputs[0].dtype;
    if (!is_half(dtype)) return {"f16 and bf16 only"};
    for (auto& spec : p.inputs)
        if (!spec.is_absent() && spec.dtype != dtype) return {"one dtype for all inputs"};
    for (auto& spec : p.outputs)
        if (spec.numel() == 0) return {"an empty result"};
    const auto shape = attention_shape(Attention::name, p.as<AttentionParams>(), p.inputs, 3);
    if (shape.batch * shape.shared_heads < p.threads) return {"fewer heads than threads"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    const auto shape = attention_shape(Attention::name, p.as<AttentionParams>(), p.inputs, 3);
    State state{shape, HeadsInFloats(shape), p.inputs[0].dtype, p.threads,
                p.has_input(3) ? p.inputs[3].numel() : 0};
    return Prepared::make(state, size_t(state.mask + state.threads * state.inner.floats()) * sizeof(float));
}

// Rows of a head, from and to dense floats.
template <class H>
void widen_rows(const H* from, int64_t row, int64_t rows, int64_t width, float* to) {
    for (int64_t i = 0; i < rows; ++i, to += width) cpu::halves_to_floats(from + i * row, to, width);
}
template <class H>
void narrow_rows(const float* from, int64_t rows, int64_t width, H* to, int64_t row) {
    for (int64_t i = 0; i < rows; ++i) cpu::floats_to_halves(from + i * width, to + i * row, width);
}

template <class H>
void attend_heads(const State& state, const Launch& launch, const float* mask, int64_t item, float* memory) {
    const auto& s = state.shape;
    const auto& inner = state.inner;
    const int64_t batch = item / s.shared_heads, shared = item % s.shared_heads, head = shared * s.group();
    float *q = memory, *k = q + inner.q, *v = k + inner.k, *y = v + inner.v, *packed = y + inner.y;
    for (int64_t i = 0; i < s.group(); ++i)
        widen_rows(launch.in<H>(0) + batch * s.q.batch + (head + i) * s.q.head, s.q.row, s.queries, s.width,
                   q + i * inner.shape.q.head);
    widen_rows(launch.in<H>(1) + batch * s.k.batch + shared * s.k.head, s.k.row, s.keys, s.width, k);
    widen_rows(launch.in<H>(2) + batch * s.v.batch + shared * s.v.head, s.v.row, s.keys, s.value_width, v);
    inner.attend({q, k, v, mask ? mask + batch * s.mask.batch + head * s.mask.head : nullptr, y,
                  launch.out<float>(1) + (batch * s.heads + head) * s.queries, packed},
                 packed + inner.packed);
    for (int64_t i = 0; i < s.group(); ++i)
        narrow_rows(y + i * inner.shape.y.head, s.queries, s.value_width,
                    launch.out<H>(0) + batch * s.y.batch + (head + i) * s.y.head, s.y.row);
}

template <class H>
void attend(const State& state, const Launch& launch) {
    auto* memory = static_cast<float*>(launch.workspace);
    const float* mask = nullptr;
    if (state.mask) {
        cpu::halves_to_floats(launch.in<H>(3), memory, state.mask);
        mask = memory;
        memory += state.mask;
    }
    in_parts(std::min(launch.threads, state.threads), state.items(), 1,
             [&](int thread, int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item)
                     attend_heads<H>(state, launch, mask, item, memory + thread * state.inner.floats());
             });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    dispatch_dtype(state.dtype, cpu::HalfTypes(),
                   [&]<class H>(std::type_identity<H>) { attend<H>(state, launch); });
}

}  // namespace

Algorithm half_attention() { return {"f32_heads", supports, prepare, run}; }

}  // namespace mge::ops
