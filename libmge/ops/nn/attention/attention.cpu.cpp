// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/attention/attention_rows.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/attention/algorithms.h"
#include "libmge/ops/nn/attention/geometry.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

KernelList kernels(Cpu, Attention);          // for in_f32
KernelList kernels(Cpu, AttentionBackward);  // for in_f32

namespace {

struct State {
    AttentionShape shape;
    DType dtype = DType::f32;
    int threads = 1;
    bool is_empty = false;  // nothing comes out
    int64_t mask = 0;       // elements of a mask that is widened
};

constexpr double infinity = std::numeric_limits<double>::infinity();

State state_of(std::string_view who, const Problem& problem, size_t mask) {
    State state{attention_shape(who, problem.as<AttentionParams>(), problem.inputs, mask),
                problem.inputs[0].dtype, problem.threads};
    // Extents beside one of 0 may be more than can be counted.
    state.is_empty = std::ranges::all_of(problem.outputs, [](auto& spec) { return spec.numel() == 0; });
    return state;
}

// Multiply-adds for a pair of a query and a key: a nanosecond is worth about sixteen.
int64_t grain_of(const AttentionShape& s, int64_t queries) {
    constexpr int64_t products_per_nanosecond = 16;
    double work =
        double(queries) * double(s.keys) * double(s.width + s.value_width) / products_per_nanosecond;
    return std::max<int64_t>(1, int64_t(double(parallel_grain) / (work + 1)));
}

Support supports_blocks(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

// Queries and keys of bf16; values, mask and results of V.
template <class V>
Support supports_tiles(const Problem& problem) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    if (Support plain = plain_layouts(problem); !plain) return plain;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
        if (problem.has_input(i) && problem.inputs[i].dtype != (i < 2 ? DType::bf16 : DTypeOf<V>))
            return {"queries and keys of bf16 only, with values and a mask of one dtype"};
    auto shape = attention_shape(Attention::name, problem.as<AttentionParams>(), problem.inputs, 3);
    return shape.queries > few_queries ? supported : Support{"few queries"};
}

// One query, one head.
struct Row {
    int64_t batch, head, query;
};
// Calls fn(row) for each.
template <class Fn>
void for_rows(const AttentionShape& s, Fn&& fn) {
    for (int64_t batch = 0; batch < s.batch; ++batch)
        for (int64_t head = 0; head < s.heads; ++head)
            for (int64_t query = 0; query < s.queries; ++query) fn(Row{batch, head, query});
}

template <class T>
const T* at(const T* first, const AttentionStrides& strides, int64_t batch, int64_t head, int64_t row) {
    return first + batch * strides.batch + head * strides.head + row * strides.row;
}
template <class T>
double dot(const T* a, const T* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(float(a[i])) * float(b[i]);
    return sum;
}

// The scores of q, k and mask for each key, minus infinity for hidden keys.
template <class T>
std::vector<double> scores_of(const AttentionShape& s, const T* q, const T* k, const T* mask, const Row& r) {
    std::vector<double> scores(size_t(s.keys), -infinity);
    for (int64_t key = 0; key < visible_keys(s, r.query); ++key) {
        double score = s.scale * dot(at(q, s.q, r.batch, r.head, r.query),
                                     at(k, s.k, r.batch, r.head / s.group(), key), s.width);
        if (mask)
            score += float(mask[r.batch * s.mask.batch + r.head * s.mask.head + r.query * s.mask.query +
                                key * s.mask.key]);
        scores[size_t(key)] = score;
    }
    return scores;
}
int64_t row_number(const AttentionShape& s, const Row& r) {
    return (r.batch * s.heads + r.head) * s.queries + r.query;
}

// --- forward: inputs q, k, v, mask; outputs y, log_sum_exp ---

template <class T>
void reference_row(const AttentionShape& s, const Launch& launch, const Row& r) {
    auto weights = scores_of(s, launch.in<T>(0), launch.in<T>(1), launch.in_if_given<T>(3), r);
    double top = -infinity, sum = 0;
    for (double score : weights) top = std::isnan(score) || score > top ? score : top;
    const double shift = top == -infinity ? 0 : top;
    for (double& weight : weights) sum += weight = std::exp(weight - shift);
    T* y = launch.out<T>(0) + r.batch * s.y.batch + r.head * s.y.head + r.query * s.y.row;
    for (int64_t i = 0; i < s.value_width; ++i) {
        double value = 0;
        for (int64_t key = 0; key < visible_keys(s, r.query); ++key)
            value +=
                weights[size_t(key)] * float(at(launch.in<T>(2), s.v, r.batch, r.head / s.group(), key)[i]);
        y[i] = T(float(sum == 0 ? 0 : value / sum));
    }
    launch.out<float>(1)[row_number(s, r)] = float(sum == 0 ? infinity : shift + std::log(sum));
}

Prepared prepare(const PrepareContext& context) {
    return Prepared::make(state_of(Attention::name, context.problem, 3));
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    if (state.is_empty) return;
    dispatch_dtype(state.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for_rows(state.shape, [&](const Row& r) { reference_row<T>(state.shape, launch, r); });
    });
}

Support supports_rows(const Problem& problem) {
    if (Support support = supports_blocks(problem); !support) return support;
    auto shape = attention_shape(Attention::name, problem.as<AttentionParams>(), problem.inputs, 3);
    return shape.queries <= few_queries ? supported : Support{"many queries"};
}

Prepared prepare_rows(const PrepareContext& context) {
    State state = state_of(Attention::name, context.problem, 3);
    if (state.is_empty) return Prepared::make(state);
    return Prepared::make(state,
                          size_t(state.threads * cpu::attend_rows_scratch(state.shape)) * sizeof(float));
}

template <class Q, class V>
cpu::AttentionOperands<Q, V> operands_of(const Launch& launch, const float* mask, Q* packed) {
    return {launch.in<Q>(0),  launch.in<Q>(1),      launch.in<V>(2), mask,
            launch.out<V>(0), launch.out<float>(1), packed};
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& s = state.shape;
    if (state.is_empty) return;
    auto* scratch = static_cast<float*>(launch.workspace);
    const auto data = operands_of<float, float>(launch, launch.in_if_given<float>(3), nullptr);
    in_parts(std::min(launch.threads, state.threads), cpu::attend_rows_items(s), grain_of(s, 1),
             [&](int part, int64_t begin, int64_t end) {
                 cpu::attend_rows()(s, data, begin, end, scratch + part * cpu::attend_rows_scratch(s));
             });
}

template <class Q, class V>
Prepared prepare_blocks(const PrepareContext& context) {
    State state = state_of(Attention::name, context.problem, 3);
    if (state.is_empty) return Prepared::make(state);
    if (is_half(DTypeOf<V>) && context.problem.has_input(3)) state.mask = context.problem.inputs[3].numel();
    const auto sizes = cpu::attention_sizes(state.shape, is_half(DTypeOf<Q>));
    const auto floats = size_t(state.threads * sizes.scratch + state.mask);
    return Prepared::make(state, size_t(sizes.packed) * sizeof(Q) + floats * sizeof(float));
}

template <class Q, class V>
void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& s = state.shape;
    if (state.is_empty) return;
    const auto sizes = cpu::attention_sizes(s, is_half(DTypeOf<Q>));
    auto* packed = static_cast<Q*>(launch.workspace);
    auto* scratch = reinterpret_cast<float*>(packed + sizes.packed);
    float* widened = scratch + state.threads * sizes.scratch;
    if constexpr (is_half(DTypeOf<V>))
        if (state.mask) cpu::halves_to_floats(launch.in<V>(3), widened, state.mask);
    const float* mask = state.mask ? widened : launch.in_if_given<float>(3);
    const auto data = operands_of<Q, V>(launch, mask, packed);
    auto& steps = cpu::attention_functions().steps(data);
    const int64_t pack_grain = std::max<int64_t>(1, parallel_grain / (4 * (s.width + s.value_width) + 1));
    par_for(launch.threads, sizes.pack_items, pack_grain,
            [&](int64_t begin, int64_t end) { steps.pack(s, data, begin, end); });
    in_balanced_parts(std::min(launch.threads, state.threads), sizes.items,
                      grain_of(s, cpu::queries_together), [&](int thread, int64_t begin, int64_t end) {
                          steps.attend(s, data, begin, end, scratch + thread * sizes.scratch);
                      });
}

template <class V>
constexpr Algorithm tiles{"amx_tiles", supports_tiles<V>, prepare_blocks<BFloat16, V>,
                          run_blocks<BFloat16, V>};

KernelList tiles_of_floats() {
    static constexpr Algorithm list[] = {tiles<float>};
    return list;
}

// --- backward: inputs q, k, v, dy, y, log_sum_exp, mask, dlog_sum_exp; outputs dq, dk, dv ---

// Sums of a head of the keys, to be rounded once.
struct HeadSums {
    std::vector<double> k, v;
    explicit HeadSums(const AttentionShape& s)
        : k(size_t(s.keys * s.width)), v(size_t(s.keys * s.value_width)) {}
};

// One query's gradient, and its part of its keys' and values'.
template <class T>
void reference_row_backward(const AttentionShape& s, const Launch& launch, const Row& r, HeadSums& sums) {
    const T* q = at(launch.in<T>(0), s.q, r.batch, r.head, r.query);
    const T* dy = at(launch.in<T>(3), s.y, r.batch, r.head, r.query);
    const auto* dlog = launch.in_if_given<float>(7);
    auto scores = scores_of(s, launch.in<T>(0), launch.in<T>(1), launch.in_if_given<T>(6), r);
    const double log_sum_exp = launch.in<float>(5)[row_number(s, r)];
    double rest = dot(dy, at(launch.in<T>(4), s.y, r.batch, r.head, r.query), s.value_width);
    if (dlog) rest -= dlog[row_number(s, r)];
    std::vector<double> dq(size_t(s.width));
    for (int64_t key = 0; key < visible_keys(s, r.query); ++key) {
        const T* k = at(launch.in<T>(1), s.k, r.batch, r.head / s.group(), key);
        const T* v = at(launch.in<T>(2), s.v, r.batch, r.head / s.group(), key);
        const double weight = std::exp(scores[size_t(key)] - log_sum_exp);
        const double of_score = weight * (dot(dy, v, s.value_width) - rest) * s.scale;
        for (int64_t i = 0; i < s.width; ++i) {
            dq[size_t(i)] += of_score * float(k[i]);
            sums.k[size_t(key * s.width + i)] += of_score * float(q[i]);
        }
        for (int64_t i = 0; i < s.value_width; ++i)
            sums.v[size_t(key * s.value_width + i)] += weight * float(dy[i]);
    }
    T* to = launch.out<T>(0) + (q - launch.in<T>(0));
    for (int64_t i = 0; i < s.width; ++i) to[i] = T(float(dq[size_t(i)]));
}

template <class T>
void reference_head_backward(const AttentionShape& s, const Launch& launch, int64_t batch, int64_t shared) {
    HeadSums sums(s);
    for (int64_t head = shared * s.group(); head < (shared + 1) * s.group(); ++head)
        for (int64_t query = 0; query < s.queries; ++query)
            reference_row_backward<T>(s, launch, {batch, head, query}, sums);
    for (int64_t key = 0; key < s.keys; ++key) {
        T* dk = launch.out<T>(1) + batch * s.k.batch + shared * s.k.head + key * s.k.row;
        T* dv = launch.out<T>(2) + batch * s.v.batch + shared * s.v.head + key * s.v.row;
        for (int64_t i = 0; i < s.width; ++i) dk[i] = T(float(sums.k[size_t(key * s.width + i)]));
        for (int64_t i = 0; i < s.value_width; ++i) dv[i] = T(float(sums.v[size_t(key * s.value_width + i)]));
    }
}

Prepared prepare_backward(const PrepareContext& context) {
    return Prepared::make(state_of(AttentionBackward::name, context.problem, 6));
}

void run_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& s = state.shape;
    if (state.is_empty) return;
    dispatch_dtype(state.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t batch = 0; batch < s.batch; ++batch)
            for (int64_t shared = 0; shared < s.shared_heads; ++shared)
                reference_head_backward<T>(s, launch, batch, shared);
    });
}

Prepared prepare_backward_blocks(const PrepareContext& context) {
    State state = state_of(AttentionBackward::name, context.problem, 6);
    if (state.is_empty) return Prepared::make(state);
    int64_t floats = state.threads * cpu::backward_scratch(state.shape);
    return Prepared::make(state, size_t(floats) * sizeof(float));
}

void run_backward_blocks(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& s = state.shape;
    if (state.is_empty) return;
    cpu::AttentionGradients gradients{
        launch.in<float>(0),          launch.in<float>(1),          launch.in<float>(2),
        launch.in<float>(3),          launch.in<float>(4),          launch.in<float>(5),
        launch.in_if_given<float>(6), launch.in_if_given<float>(7), launch.out<float>(0),
        launch.out<float>(1),         launch.out<float>(2)};
    auto* scratch = static_cast<float*>(launch.workspace);
    in_balanced_parts(std::min(launch.threads, state.threads), cpu::backward_items(s),
                      grain_of(s, 3 * s.group() * s.queries), [&](int thread, int64_t begin, int64_t end) {
                          cpu::attention_functions().attend_backward(
                              s, gradients, begin, end, scratch + thread * cpu::backward_scratch(s));
                      });
}

constexpr Algorithm backward_algorithms[] = {
    {"blocks", supports_blocks, prepare_backward_blocks, run_backward_blocks},
    cpu::in_f32<Cpu, AttentionBackward>(),
    {"reference", plain_layouts, prepare_backward, run_backward_reference, {.naive = true}},
};

}  // namespace

KernelList kernels(Cpu, Attention) {
    static const Algorithm list[] = {
        tiles<BFloat16>,
        cpu::in_bf16<tiles_of_floats, cpu::Bf16Unit::tiles>(),
        {"rows", supports_rows, prepare_rows, run_rows},
        {"blocks", supports_blocks, prepare_blocks<float, float>, run_blocks<float, float>},
        half_attention(),
        cpu::in_f32<Cpu, Attention>(),
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}},
    };
    return list;
}
KernelList kernels(Cpu, AttentionBackward) { return backward_algorithms; }

}  // namespace mge::ops
