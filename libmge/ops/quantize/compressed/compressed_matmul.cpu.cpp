// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_matmul.h"

#include <algorithm>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/compressed_rows.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/compressed/compressed_blocks-inl.h"

namespace mge::ops {
namespace {

// Up to so many rows of x their products are made from the steps directly: a weight is then made a float for
// each four of them. By estimate: with more rows it is worth to store the floats.
constexpr int64_t few_rows = 16;
// Work per thread that is worth a parallel region; about 20 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 14;

// ---- few rows of x ----

Support supports_rows(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return rows_of_x(p) <= few_rows ? supported : Support{"more rows, for which floats are worth storing"};
}

// For builds without oneDNN.
Support supports_more_rows(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return rows_of_x(p) > few_rows ? supported : Support{"few rows"};
}

Prepared prepare_rows(const PrepareContext& context) {
    CompressedProduct s = compressed_product(context.problem);
    auto ordered = size_t(cpu::ordered_floats(s.weight, s.rows)) * sizeof(float);
    return Prepared::make(s, ordered);
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<CompressedProduct>();
    const CompressedData data = compressed_data(launch, CompressedProduct::steps);
    const auto rows = cpu::order_rows(s.weight, launch.in<float>(CompressedProduct::x), s.rows,
                                      data.zero != nullptr, static_cast<float*>(launch.workspace));
    const int64_t grain = grain_multiplications / (s.weight.columns * std::max<int64_t>(s.rows, 1)) + 1;
    par_for(launch.threads, s.weight.rows, grain, [&](int64_t first, int64_t last) {
        cpu::multiply_rows(s.weight, data, rows, first, last, launch.out<float>(0));
        s.finish(launch, {0, s.rows, first, last});
    });
}

// ---- reference ----

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<CompressedProduct>();
    const CompressedData data = compressed_data(launch, CompressedProduct::steps);
    auto *b = launch.in_if_given<float>(CompressedProduct::bias),
         *added = launch.in_if_given<float>(CompressedProduct::residual);
    float* y = launch.out<float>(0);
    for (int64_t m = 0; m < s.rows; ++m)
        for (int64_t n = 0; n < s.weight.rows; ++n, ++y) {
            double sum = b ? b[n] : 0;
            for (int64_t k = 0; k < s.weight.columns; ++k)
                sum += double(launch.in<float>(CompressedProduct::x)[m * s.weight.columns + k]) *
                       weight_at(s.weight, data, n, k);
            if (added) sum += added[m * s.weight.rows + n];
            *y = apply_activation(s.activation, float(sum));
        }
}

Prepared prepare_reference(const PrepareContext& context) {
    return Prepared::make(compressed_product(context.problem));
}

}  // namespace

KernelList kernels(Cpu, CompressedMatmul) {
    static const Algorithm list[] = {
        // A single row has its own order of sums.
        {"rows", supports_rows, prepare_rows, run_rows, {.accuracy_depends_on_batch = true}},
        compressed_blocks(),
        {"more_rows", supports_more_rows, prepare_rows, run_rows},
        {"reference", plain_layouts, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
