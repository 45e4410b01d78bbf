// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics. A tile consists
// of up to two matrices of 16 rows, which are multiplied with one or two of 16 columns. Their sums pass
// through the L1 cache on the way to steps, while the products of the next tile are computed.
#include <cpuid.h>
#include <immintrin.h>

#include <utility>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/cpu/x86/quad_store-inl.h"

namespace mge::cpu {
namespace {

constexpr int64_t line = 64;
constexpr int64_t words_of_step = tile_row_bytes / quad_word;

// Rows of a tile's sums that become steps, one call after the other.
template <int vectors, bool is_short, Between what>
class StepRows {
    using Store = StepStore<vectors, is_short, what, false>;

public:
    __attribute__((target("avx512f,avx512bw"), always_inline))
    StepRows(const QuadTile& t, const QuadSteps& steps, const int32_t* sums)
        : store_(t, steps),
          tile_(t),
          sums_(reinterpret_cast<const __m512i (*)[vectors]>(sums)),
          y_(t.y),
          residual_(t.residual),
          count_(t.first_rows),
          later_count_(t.rows - t.first_rows) {}
    bool are_left() const { return count_ > 0; }
    int64_t most_calls() const { return tile_.rows / Store::together + 2; }
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) void store() {
        typename Store::Rows places;
#pragma GCC unroll 4
        for (int i = 0; i < Store::together; ++i) {
            places.y[i] = y_ + i * tile_.y_stride;
            places.residual[i] = residual_ + i * tile_.y_stride;
        }
        store_(sums_, int(count_), places);
        if (count_ <= Store::together) {
            sums_ += count_;
            y_ = tile_.y_later;
            residual_ = tile_.residual_later;
            count_ = std::exchange(later_count_, 0);
            return;
        }
        sums_ += Store::together;
        y_ += Store::together * tile_.y_stride;
        residual_ += Store::together * tile_.y_stride;
        count_ -= Store::together;
    }

private:
    const Store store_;
    const QuadTile& tile_;
    const __m512i (*sums_)[vectors];
    uint8_t* y_;
    const uint8_t* residual_;
    int64_t count_, later_count_;  // rows from y_ on, and from QuadTile::y_later on
};
struct NoRows {
    static bool are_left() { return false; }
    static int64_t most_calls() { return 0; }
    static void store() {}
};

int64_t steps_along_k(const QuadTile& t) { return int64_t(t.parts.size()) * t.part_bytes / tile_row_bytes; }

// Matrices 0 to 3 contain the sums, 4 and 5 rows, 6 and 7 columns.
template <int vectors, class Rows>
__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl"), always_inline)) inline void multiply(
    const QuadTile& t, Rows rows) {
    constexpr int64_t weight_stride = vectors * line;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const bool has_later = t.rows > t.first_rows, is_signed = t.is_signed;
    const int64_t calls = ceil_div(rows.most_calls(), steps_along_k(t));
    const int8_t *weight = t.weight, *next = t.next;
    for (int64_t part : t.parts) {
        const uint8_t *x = t.x + part, *later = t.later + part;
        for (int64_t k = 0; k < t.part_bytes; k += tile_row_bytes, weight += tile_rows * weight_stride) {
            _tile_loadd(4, x + k, t.stride);
            _tile_loadd(6, weight, weight_stride);
            if constexpr (vectors == 2) _tile_loadd(7, weight + line, weight_stride);
            if (has_later) _tile_loadd(5, later + k, t.stride);
            if (is_signed) {
                _tile_dpbssd(0, 4, 6);
                if constexpr (vectors == 2) _tile_dpbssd(1, 4, 7);
                if (has_later) _tile_dpbssd(2, 5, 6);
                if (has_later && vectors == 2) _tile_dpbssd(3, 5, 7);
            } else {
                _tile_dpbusd(0, 4, 6);
                if constexpr (vectors == 2) _tile_dpbusd(1, 4, 7);
                if (has_later) _tile_dpbusd(2, 5, 6);
                if (has_later && vectors == 2) _tile_dpbusd(3, 5, 7);
            }
            for (const int8_t* end = next + words_of_step * t.next_step; next < end; next += line)
                _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
            for (int64_t i = 0; i < calls && rows.are_left(); ++i) rows.store();
        }
    }
}
template <int vectors>
__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl"))) void multiply(const QuadTile& t) {
    multiply<vectors>(t, NoRows());
}

template <int vectors>
__attribute__((target("amx-tile"))) void store_sums(const QuadTile& t, int32_t* sums, int64_t row_bytes) {
    _tile_stored(0, sums, row_bytes);
    if constexpr (vectors == 2) _tile_stored(1, sums + quad_lanes, row_bytes);
    if (t.rows == t.first_rows) return;
    int32_t* later_sums = sums + t.first_rows * row_bytes / int64_t(sizeof(int32_t));
    _tile_stored(2, later_sums, row_bytes);
    if constexpr (vectors == 2) _tile_stored(3, later_sums + quad_lanes, row_bytes);
}

// The steps of the pending tile and, unless it is null, the products of a tile meanwhile.
template <int vectors, bool is_short, Between what>
__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl"))) void finish(
    const QuadSteps& steps, const QuadPending& pending, const QuadTile* meanwhile) {
    StepRows<vectors, is_short, what> rows(pending.tile, steps, pending.sums_of_tile());
    if (meanwhile) return multiply<vectors>(*meanwhile, rows);
    while (rows.are_left()) rows.store();
}
template <int vectors>
void finish(const QuadSteps& steps, const QuadPending& pending, const QuadTile* meanwhile) {
    switch (between(steps)) {
        case Between::nothing:
            return (steps.is_short ? finish<vectors, true, Between::nothing>
                                   : finish<vectors, false, Between::nothing>)(steps, pending, meanwhile);
        case Between::inner_and_residual:
            return finish<vectors, true, Between::inner_and_residual>(steps, pending, meanwhile);
        case Between::inner_and_shift:
            return finish<vectors, true, Between::inner_and_shift>(steps, pending, meanwhile);
        case Between::any:
            return finish<vectors, false, Between::any>(steps, pending, meanwhile);
    }
}

int vectors_of(const QuadTile& t) { return t.columns > quad_lanes ? 2 : 1; }

void finish(const QuadSteps& steps, QuadPending& pending) {
    if (!pending.has_tile) return;
    (vectors_of(pending.tile) == 2 ? finish<2> : finish<1>)(steps, pending, nullptr);
    pending.has_tile = false;
}

// The processor looks ahead over some 500 operations, fewer than a tile's sums need on their way to steps. So
// vectors and matrices work at the same time only if the instructions of a long product and the rows of the
// tile before alternate. A short product leaves little to gain.
template <int vectors>
void steps_of(const QuadTile& t, const QuadSteps& steps, QuadPending& pending) {
    constexpr int64_t long_product = 4;  // steps along k
    int32_t* sums = pending.other_sums();
    if (pending.has_tile && vectors_of(pending.tile) == vectors && steps_along_k(t) >= long_product) {
        finish<vectors>(steps, pending, &t);
        store_sums<vectors>(t, sums, vectors * line);
    } else {
        multiply<vectors>(t);
        store_sums<vectors>(t, sums, vectors * line);
        finish(steps, pending);
    }
    pending.add(t);
}
void steps_of(const QuadTile& t, const QuadSteps& steps, QuadPending& pending) {
    (vectors_of(t) == 2 ? steps_of<2> : steps_of<1>)(t, steps, pending);
}

template <int vectors>
void sums_of(const QuadTile& t, int32_t* sums) {
    multiply<vectors>(t);
    store_sums<vectors>(t, sums, quad_columns * int64_t(sizeof(int32_t)));
    for (int64_t r = 0; r < t.rows; ++r)
        for (int64_t c = 0; c < t.columns; ++c) sums[r * quad_columns + c] += t.start[c];
}
void sums_of(const QuadTile& t, int32_t* sums) {
    (t.columns > quad_lanes ? sums_of<2> : sums_of<1>)(t, sums);
}

void begin(const QuadTile& t) { begin_tiles(t.first_rows, t.rows - t.first_rows); }

constexpr QuadUnit unit{.name = "matrices",
                        .rows = 2 * tile_rows,
                        .whole = tile_rows,
                        .depth = tile_row_bytes,
                        .takes_signed = true,
                        .begin = begin,
                        .end = end_tiles,
                        .steps = steps_of,
                        .finish = finish,
                        .sums = sums_of};

bool multiplies_bytes() {
    constexpr unsigned int8 = 1u << 25;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_matrix_tiles() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & int8);
}

}  // namespace

const QuadUnit* quad_matrices() {
    static const bool has_bytes = multiplies_bytes();
    return has_bytes ? &unit : nullptr;
}

}  // namespace mge::cpu
