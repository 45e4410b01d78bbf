// SPDX-License-Identifier: Apache-2.0
// The side with fewer panels, rows or columns, is packed by all threads; it stays in each one's second cache.
// Then each thread takes its share of the other side, panel by panel: packs it, multiplies it by all panels
// of the first side, and stores the sums. So packed data is read while it is in a near cache. Long sums and
// sides that do not fit are cut into blocks.
#include "libmge/kernel/cpu/product/split_matrices.h"

#include <algorithm>
#include <array>
#include <optional>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/small_matmul.h"

namespace mge::cpu {
namespace {

// A thread's own panels have 144 KB each, and the side that all threads read has 1.2 MB. Sums are cut
// by k alone.
constexpr int64_t most_steps = 24, most_shared_panels = 8;

// The size of equal parts of at most so many.
int64_t part_size(int64_t count, int64_t most) { return ceil_div(count, ceil_div(count, most)); }

struct Blocks {
    explicit Blocks(const SplitMatrices& p)
        : shares_columns(split_panels(p.n) <= split_panels(p.m)),
          shared_panels(std::min(split_panels(p.n), split_panels(p.m))),
          own_panels(std::max(split_panels(p.n), split_panels(p.m))),
          panels(part_size(shared_panels, most_shared_panels)),
          steps(part_size(split_steps(p.k), most_steps)) {}

    bool shares_columns;
    int64_t shared_panels, own_panels;
    int64_t panels, steps;  // size of a block
};

struct Block {
    int64_t first_panel, last_panel;  // panels of the shared side
    int64_t first_k, depth;
    bool is_first, is_last;  // whether its sums begin and end
    // One for each panel of the shared side; none if a number has no parts.
    std::array<std::optional<int>, most_shared_panels> exponents{};

    int64_t panels() const { return last_panel - first_panel; }
    int64_t panels_with_parts() const {
        return std::count_if(exponents.begin(), exponents.begin() + panels(),
                             [](const std::optional<int>& exponent) { return exponent.has_value(); });
    }
    int64_t steps() const { return split_steps(depth); }
};

struct Next {
    bool is_packed;
    SplitMeanwhile work;
};

// Two panels and two sums of a thread.
struct Own {
    SplitStep *packed, *other;
    SplitSums* sums;
    std::optional<int> exponent = usual_split_exponent;  // none if a number has no parts
    SplitPending pending{};                              // sums of the product before; none without rows
};

// In the workspace: the shared side, then two panels of each thread, then two sums of each.
class Product {
public:
    Product(const SplitMatrices& shape, const SplitOperands& operands, void* workspace)
        : shape_(shape),
          operands_(operands),
          blocks_(shape),
          shared_(static_cast<SplitStep*>(workspace)),
          own_(shared_ + blocks_.panels * blocks_.steps),
          sums_(reinterpret_cast<SplitSums*>(own_ + 2 * shape.threads * blocks_.steps)) {}

    void multiply() const;

private:
    SplitSource panel_of(bool is_of_columns, int64_t panel, const Block& block) const;
    std::optional<int> pack_shared(const Block& block, int64_t panel) const;
    void copy_columns(int64_t panel, const Block& block, SplitStep* to) const;
    SplitStep* shared(const Block& block, int64_t panel) const {
        return shared_ + (panel - block.first_panel) * block.steps();
    }
    Own own(int thread) const;
    void multiply(Block block) const;
    void multiply(const Block& block, int64_t panel, Next& next, Own& own) const;
    void multiply_own(const Block& block, int thread, int64_t begin, int64_t end) const;
    void multiply_floats(const Block& block, int64_t panel, Own& own) const;
    void prefetch_result(int64_t row, int64_t column) const;
    SplitPending finish(const Block& block, int64_t row, int64_t column, SplitSums& sums, int exponent) const;

    const SplitMatrices& shape_;
    const SplitOperands& operands_;
    Blocks blocks_;
    SplitStep *shared_, *own_;
    SplitSums* sums_;
};

SplitSource Product::panel_of(bool is_of_columns, int64_t panel, const Block& block) const {
    SplitSource source = is_of_columns ? operands_.b : operands_.a;
    source.first = source.at(panel * split_lines, block.first_k);
    source.lines = std::min(split_lines, source.lines - panel * split_lines);
    source.depth = block.depth;
    return source;
}

// Prefetches the part of y that the product will be stored to.
void Product::prefetch_result(int64_t row, int64_t column) const {
    const int64_t m = row * split_lines, n = column * split_lines;
    const int64_t rows = std::min(split_lines, shape_.m - m), columns = std::min(split_lines, shape_.n - n);
    for (int64_t j = 0; j < columns; j += SplitSource::block)
        for (int64_t i = 0; i < rows; ++i) __builtin_prefetch(operands_.result.y.at(m + i, n + j), 1);
}

bool is_stored_with_sums(Activation a) {
    return a == Activation::none || a == Activation::relu || a == Activation::relu_keeps_nan;
}

// Activates the sums unless that is done while they are stored.
SplitPending Product::finish(const Block& block, int64_t row, int64_t column, SplitSums& sums,
                             int exponent) const {
    const int64_t m = row * split_lines, n = column * split_lines;
    const int64_t rows = std::min(split_lines, shape_.m - m), columns = std::min(split_lines, shape_.n - n);
    SplitResult to = operands_.result;
    to.y.first = to.y.at(m, n);
    if (to.bias) to.bias += n;
    if (to.residual.first) to.residual.first = to.residual.at(m, n);
    if (!block.is_first) to = {nullptr, {to.y.first, to.y.row_stride, to.y.block_stride}, to.y};
    const Activation activation = block.is_last ? shape_.activation : Activation::none;
    if (is_stored_with_sums(activation)) return {&sums, exponent, rows, columns, to, activation};
    const SplitRows<float> in_place{sums.values, split_lines, SplitSource::block};
    store_split({&sums, exponent, rows, columns, {to.bias, to.residual, in_place}, Activation::none});
    activate(activation, sums.values, rows * split_lines);
    to.bias = to.residual.first = nullptr;
    return {&sums, 0, rows, columns, to, Activation::none};
}

// One panel by those of the shared side that have parts. Meanwhile it packs the next one, if there is one,
// and stores the sums of the product before.
void Product::multiply(const Block& block, int64_t panel, Next& next, Own& own) const {
    const bool shares = blocks_.shares_columns;
    const int64_t count = block.panels_with_parts();
    for (int64_t i = 0, other = block.first_panel; i < count; ++other) {
        const std::optional<int> exponent = block.exponents[size_t(other - block.first_panel)];
        if (!exponent) continue;
        next.work.first = split_lines * i / count;
        next.work.last = split_lines * ++i / count;
        const int64_t row = shares ? panel : other, column = shares ? other : panel;
        prefetch_result(row, column);
        const SplitStep* shared = this->shared(block, other);
        SplitSums& sums = own.sums[own.pending.sums == own.sums];
        multiply_split(shares ? own.packed : shared, shares ? shared : own.packed, block.steps(),
                       {next.is_packed ? &next.work : nullptr, own.pending.rows ? &own.pending : nullptr},
                       sums);
        own.pending = finish(block, row, column, sums, *own.exponent + *exponent);
    }
}

Own Product::own(int thread) const {
    SplitStep* packed = own_ + 2 * thread * blocks_.steps;
    return {packed, packed + blocks_.steps, sums_ + 2 * thread};
}

// Own panels in turn.
void Product::multiply_own(const Block& block, int thread, int64_t begin, int64_t end) const {
    const bool is_of_columns = !blocks_.shares_columns;
    const int64_t with_parts = block.panels_with_parts();
    Own own = this->own(thread);
    bool is_packed = false;
    begin_tiles();
    for (int64_t i = begin; i < end; ++i, std::swap(own.packed, own.other)) {
        if (!is_packed)
            own.exponent =
                pack_split(panel_of(is_of_columns, i, block), is_of_columns, *own.exponent, own.packed);
        const SplitSource source = panel_of(is_of_columns, std::min(i + 1, end - 1), block);
        SplitLargest largest;
        Next next{own.exponent && with_parts && i + 1 < end && can_split_meanwhile(source, is_of_columns),
                  {&source, is_of_columns, 0, 0, 2 * source.line_block, own.other, &largest}};
        if (own.exponent) multiply(block, i, next, own);
        if (!own.exponent || with_parts < block.panels()) multiply_floats(block, i, own);
        own.exponent = next.is_packed ? split_exponent(largest) : usual_split_exponent;
        is_packed = next.is_packed && own.exponent.value_or(usual_split_exponent) == usual_split_exponent;
    }
    end_tiles();
    if (own.pending.rows) store_split(own.pending);
}

// All k of a panel, those of a column split_lines apart.
void Product::copy_columns(int64_t panel, const Block& block, SplitStep* to) const {
    constexpr int64_t size = SplitSource::block;
    static_assert(sizeof(SplitStep) >= split_depth * split_lines * sizeof(float));
    const SplitSource source = panel_of(true, panel, block);
    auto* copy = reinterpret_cast<float*>(to);
    std::fill_n(copy, source.depth * split_lines, 0.0f);
    for (int64_t n = 0; n < source.lines; n += size)
        for (int64_t k = 0; k < source.depth; ++k) {
            const float* from = source.at(n, k / size * size) + k % size * source.depth_stride;
            for (int64_t i = 0; i < std::min(size, source.lines - n); ++i)
                copy[k * split_lines + n + i] = from[i * source.line_stride];
        }
}

// Sums of up to 32 rows by floats.
void add_floats(const SplitSource& a, const float* columns, SplitSums& sums) {
    constexpr int64_t block = SplitSource::block;
    const int64_t depth = a.depth_block == block * a.depth_stride ? a.depth : block;
    std::fill(std::begin(sums.values), std::end(sums.values), 0.0f);
    for (int64_t line = 0; line < a.lines; line += block)
        for (int64_t k = 0; k < a.depth; k += depth) {
            float* y = sums.values + line * split_lines;
            const SmallMatmul shape{std::min(block, a.lines - line),
                                    split_lines,
                                    std::min(depth, a.depth - k),
                                    a.line_stride,
                                    a.depth_stride,
                                    split_lines,
                                    1};
            small_matmul(shape, {a.at(line, k), columns + k * split_lines, nullptr, y, y}, 0, split_lines);
        }
}

// By those of the shared side without parts, or by all if it has none itself. Destroys the packed panel.
void Product::multiply_floats(const Block& block, int64_t panel, Own& own) const {
    const bool shares = blocks_.shares_columns;
    if (!shares) copy_columns(panel, block, own.packed);
    for (int64_t other = block.first_panel; other < block.last_panel; ++other) {
        const bool has_parts = block.exponents[size_t(other - block.first_panel)].has_value();
        if (own.exponent && has_parts) continue;
        const SplitStep* columns = shares && !has_parts ? shared(block, other) : own.packed;
        if (shares && has_parts) copy_columns(other, block, own.packed);
        const int64_t row = shares ? panel : other, column = shares ? other : panel;
        SplitSums& sums = own.sums[own.pending.sums == own.sums];
        add_floats(panel_of(false, row, block), reinterpret_cast<const float*>(columns), sums);
        store_split(finish(block, row, column, sums, 0));
    }
}

// Columns without parts are copied instead.
std::optional<int> Product::pack_shared(const Block& block, int64_t panel) const {
    const bool is_of_columns = blocks_.shares_columns;
    SplitStep* to = shared(block, panel);
    const auto exponent =
        pack_split(panel_of(is_of_columns, panel, block), is_of_columns, usual_split_exponent, to);
    if (!exponent && is_of_columns) copy_columns(panel, block, to);
    return exponent;
}

void Product::multiply(Block block) const {
    par_for(shape_.threads, block.panels(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            block.exponents[size_t(i)] = pack_shared(block, block.first_panel + i);
    });
    in_parts(shape_.threads, blocks_.own_panels, 1,
             [&](int thread, int64_t begin, int64_t end) { multiply_own(block, thread, begin, end); });
}

void Product::multiply() const {
    const int64_t depth = blocks_.steps * split_depth;
    for (int64_t panel = 0; panel < blocks_.shared_panels; panel += blocks_.panels)
        for (int64_t k = 0; k < shape_.k; k += depth)
            multiply(Block{panel, std::min(panel + blocks_.panels, blocks_.shared_panels), k,
                           std::min(depth, shape_.k - k), k == 0, k + depth >= shape_.k});
}

}  // namespace

size_t SplitMatrices::workspace() const {
    const Blocks blocks(*this);
    return size_t((blocks.panels + 2 * threads) * blocks.steps) * sizeof(SplitStep) +
           size_t(2 * threads) * sizeof(SplitSums);
}

void multiply_split(const SplitMatrices& product, const SplitOperands& operands, void* workspace) {
    Product(product, operands, workspace).multiply();
}

}  // namespace mge::cpu
