// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_blocks-inl.h"

#include <algorithm>
#include <array>
#include <optional>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/compressed_rows.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

// The floats of a block of weights are in the last-level cache, those of most blocks in the L2 cache, until
// they are used.
constexpr int64_t block_floats = 1 << 18;
constexpr int64_t block_step = 64;  // rows of weights

// x times `rows` rows of floats, into as many columns of y.
onednn::Call product_with(const CompressedProduct& s, int64_t rows) {
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
    CompressedProduct problem;
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
    CompressedProduct s = compressed_product(p);
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
    const CompressedData data = compressed_data(launch, CompressedProduct::steps);
    auto* floats = static_cast<float*>(launch.workspace);
    const void* inputs[] = {launch.inputs[CompressedProduct::x], floats};
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
        s.finish(launch, {first, last, 0, n});
    });
}

}  // namespace

Algorithm compressed_blocks() {
    return {"blocks", supports_blocks, prepare_blocks, run_blocks, {.accuracy_depends_on_batch = true}};
}

}  // namespace mge::ops
