// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_matmul.h"

#include <array>
#include <optional>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/compressed_rows.h"
#include "libmge/kernel/cpu/product/product_epilogue.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/compressed/compressed_product.h"

namespace mge::ops {
namespace {

enum Input : size_t { x, steps, scale, zero_point, bias, residual };

// Up to so many rows of x their products are made from the steps directly: a weight is then made a float for
// each four of them. By estimate: with more rows it is worth to store the floats.
constexpr int64_t few_rows = 16;
// Work per thread that is worth a parallel region; about 20 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 14;
// The floats of a block of weights are in the last-level cache, those of most blocks in the L2 cache, until
// they are used.
constexpr int64_t block_floats = 1 << 18;
constexpr int64_t block_step = 64;  // rows of weights

struct State {
    CompressedWeight weight;
    int64_t rows;  // rows of x
    Activation activation;
};

State state_of(const Problem& p) {
    auto& params = p.as<CompressedMatmul::Params>();
    return {compressed_weight(params, p.inputs), rows_of_x(p), params.activation};
}

void finish(const State& s, const Launch& launch, const cpu::ProductPart& part) {
    cpu::finish({launch.in_if_given<float>(bias), launch.in_if_given<float>(residual), s.activation,
                 s.weight.rows, launch.out<float>(0)},
                part);
}

// ---- few rows of x ----

Support supports_rows(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return rows_of_x(p) <= few_rows ? supported : Support{"more rows, for which floats are worth storing"};
}

Prepared prepare_rows(const PrepareContext& context) {
    State s = state_of(context.problem);
    auto ordered = size_t(cpu::ordered_floats(s.weight, s.rows)) * sizeof(float);
    return Prepared::make(s, ordered);
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const CompressedData data = compressed_data(launch, steps);
    const auto rows =
        cpu::order_rows(s.weight, launch.in<float>(x), s.rows, static_cast<float*>(launch.workspace));
    const int64_t grain = grain_multiplications / (s.weight.columns * std::max<int64_t>(s.rows, 1)) + 1;
    par_for(launch.threads, s.weight.rows, grain, [&](int64_t first, int64_t last) {
        cpu::multiply_rows(s.weight, data, rows, first, last, launch.out<float>(0));
        finish(s, launch, {0, s.rows, first, last});
    });
}

// ---- many rows of x: a block of weights as floats after the other, each multiplied by oneDNN ----

// x times `rows` rows of floats, into as many columns of y.
onednn::Call product_with(const State& s, int64_t rows) {
    using onednn::strided;
    const int64_t m = s.rows, k = s.weight.columns, n = s.weight.rows;
    auto matrix = [](std::array<int64_t, 2> dims, std::array<int64_t, 2> strides) {
        return strided(dims, strides, dnnl_f32);
    };
    auto a = matrix({m, k}, {k, 1}), b = matrix({k, rows}, {1, k}), y = matrix({m, rows}, {n, 1});
    auto ways =
        onednn::implementations(onednn::MatmulDesc{a, b, {}, y}, onednn::attributes(false, Activation::none),
                                [](auto&) { return true; });
    MGE_CHECK(!ways.empty(), "no implementation of a product of f32");
    return {ways.front().desc,
            {onednn::input(DNNL_ARG_SRC, 0, a), onednn::input(DNNL_ARG_WEIGHTS, 1, b),
             onednn::output(DNNL_ARG_DST, 0, y)}};
}

struct Blocks {
    State problem;
    int64_t rows;  // rows of weights in a block
    onednn::Call block;
    std::optional<onednn::Call> last;  // the last block if it is smaller
    int threads;
    int64_t floats() const { return rows * problem.weight.columns; }
};

Support supports_blocks(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return p.outputs[0].numel() ? supported : Support{"an empty operand"};
}

Prepared prepare_blocks(const PrepareContext& context) {
    auto& p = context.problem;
    onednn::ThreadScope scope(p.threads);
    State s = state_of(p);
    const int64_t n = s.weight.rows, fitting = block_floats / s.weight.columns / block_step * block_step;
    const int64_t rows = std::min(n, std::max(fitting, block_step));
    Blocks blocks{s, rows, product_with(s, rows), std::nullopt, p.threads};
    if (n % rows) blocks.last.emplace(product_with(s, n % rows));
    size_t inside = std::max(blocks.block.workspace(), blocks.last ? blocks.last->workspace() : 0);
    size_t bytes = size_t(blocks.floats()) * sizeof(float) + inside;
    auto code = blocks.block.code();
    return Prepared::make(std::move(blocks), bytes).with_code(std::move(code));
}

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& blocks = prepared.state<Blocks>();
    auto& s = blocks.problem;
    const int64_t n = s.weight.rows, columns = s.weight.columns;
    const CompressedData data = compressed_data(launch, steps);
    auto* floats = static_cast<float*>(launch.workspace);
    const void* inputs[] = {launch.inputs[x], floats};
    for (int64_t first = 0; first < n; first += blocks.rows) {
        const int64_t last = std::min(first + blocks.rows, n);
        par_for(launch.threads, last - first, parallel_grain / columns + 1, [&](int64_t begin, int64_t end) {
            cpu::expand_rows(s.weight, data, first + begin, first + end, floats + begin * columns);
        });
        void* outputs[] = {launch.out<float>(0) + first};
        auto& product = last - first == blocks.rows ? blocks.block : *blocks.last;
        product.run({inputs, outputs, floats + blocks.floats(), launch.threads}, blocks.threads);
    }
    par_for(launch.threads, s.rows, parallel_grain / n + 1, [&](int64_t first, int64_t last) {
        finish(s, launch, {first, last, 0, n});
    });
}

// ---- reference ----

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const CompressedData data = compressed_data(launch, steps);
    auto *b = launch.in_if_given<float>(bias), *added = launch.in_if_given<float>(residual);
    float* y = launch.out<float>(0);
    for (int64_t m = 0; m < s.rows; ++m)
        for (int64_t n = 0; n < s.weight.rows; ++n, ++y) {
            double sum = b ? b[n] : 0;
            for (int64_t k = 0; k < s.weight.columns; ++k)
                sum +=
                    double(launch.in<float>(x)[m * s.weight.columns + k]) * weight_at(s.weight, data, n, k);
            if (added) sum += added[m * s.weight.rows + n];
            *y = apply_activation(s.activation, float(sum));
        }
}

Prepared prepare_reference(const PrepareContext& context) {
    return Prepared::make(state_of(context.problem));
}

}  // namespace

KernelList kernels(Cpu, CompressedMatmul) {
    static constexpr Algorithm list[] = {
        {"rows", supports_rows, prepare_rows, run_rows},
        {"blocks", supports_blocks, prepare_blocks, run_blocks, {.accuracy_depends_on_batch = true}},
        {"reference", plain_layouts, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
