// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/quad_product.h"

#include <array>
#include <utility>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/x86/quad_store-inl.h"

namespace mge::cpu {
namespace {

constexpr int64_t quad_rows = 14, lanes = quad_lanes, word = quad_word, line = 64;

// A row's distance from the first, in forms that addresses have.
struct RowSteps {
    int64_t one, three, five;
};

// The word of row r, in all lanes. Compilers keep a pointer for each row and run out of registers.
__attribute__((target("avx512f"), always_inline)) inline __m512i word_of_row(int r, const uint8_t* x,
                                                                             const RowSteps& steps) {
    __m512i all;
    switch (r) {
        case 0:
            asm("vpbroadcastd (%1), %0" : "=v"(all) : "r"(x));
            break;
        case 1:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 2:
            asm("vpbroadcastd (%1,%2,2), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 3:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.three));
            break;
        case 4:
            asm("vpbroadcastd (%1,%2,4), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 5:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.five));
            break;
        default:
            asm("vpbroadcastd (%1,%2,2), %0" : "=v"(all) : "r"(x), "r"(steps.three));
            break;
    }
    return all;
}

// 28 sums, two words of the weight and one of x in 32 registers. The product is written in assembly because
// GCC 12 keeps copies of the sums in memory.
template <int rows, int vectors>
__attribute__((target("avx512f,avx512vnni"), always_inline)) inline void multiply_tile(
    const QuadTile& t, __m512i (&sums)[rows][vectors]) {
    constexpr int half = (rows + 1) / 2;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_loadu_si512(t.start + v * lanes);
    const int8_t *weight = t.weight, *next = t.next;
    const int64_t next_step = t.next_step;
    const RowSteps steps{t.stride, 3 * t.stride, 5 * t.stride};
    for (int64_t part : t.parts) {
        const uint8_t *x = t.x + part, *later = t.later + part;
        const int8_t* end = weight + t.part_bytes * vectors * lanes;
        for (; weight < end; weight += vectors * lanes * word, x += word, later += word, next += next_step) {
            __m512i b[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) b[v] = _mm512_loadu_si512(weight + v * lanes * word);
            _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
            _mm_prefetch(reinterpret_cast<const char*>(next) + line, _MM_HINT_T1);
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) {
                __m512i a = r < half ? word_of_row(r, x, steps) : word_of_row(r - half, later, steps);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v)
                    asm("vpdpbusd %2, %1, %0" : "+v"(sums[r][v]) : "v"(a), "v"(b[v]));
            }
        }
    }
}

template <int rows, int vectors, bool is_short, Between what>
__attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) inline void store_steps(
    const QuadTile& t, const QuadSteps& quad_steps, const __m512i (&sums)[rows][vectors]) {
    using Store = StepStore<vectors, is_short, what, true>;
    const Store store(t, quad_steps);
    constexpr int half = (rows + 1) / 2;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += store.together) {
        typename Store::Rows places;
#pragma GCC unroll 4
        for (int i = 0; i < store.together; ++i) {
            const int row = r + i;
            places.y[i] = row < half ? t.y + row * t.y_stride : t.y_later + (row - half) * t.y_stride;
            places.residual[i] =
                row < half ? t.residual + row * t.y_stride : t.residual_later + (row - half) * t.y_stride;
        }
        store(sums + r, rows - r, places);
    }
}

template <int rows, int vectors>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void steps_of_tile(const QuadTile& tile,
                                                                                   const QuadSteps& steps) {
    __m512i sums[rows][vectors];
    multiply_tile<rows, vectors>(tile, sums);
    switch (between(steps)) {
        case Between::nothing:
            return steps.is_short ? store_steps<rows, vectors, true, Between::nothing>(tile, steps, sums)
                                  : store_steps<rows, vectors, false, Between::nothing>(tile, steps, sums);
        case Between::inner_and_residual:
            return store_steps<rows, vectors, true, Between::inner_and_residual>(tile, steps, sums);
        case Between::inner_and_shift:
            return store_steps<rows, vectors, true, Between::inner_and_shift>(tile, steps, sums);
        case Between::any:
            return store_steps<rows, vectors, false, Between::any>(tile, steps, sums);
    }
}

template <int rows, int vectors>
__attribute__((target("avx512f,avx512vnni"))) void sums_of_tile(const QuadTile& tile, int32_t* to) {
    __m512i sums[rows][vectors];
    multiply_tile<rows, vectors>(tile, sums);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) _mm512_storeu_si512(to + r * quad_columns + v * lanes, sums[r][v]);
}

struct TileKernels {
    void (*steps)(const QuadTile&, const QuadSteps&);
    void (*sums)(const QuadTile&, int32_t*);
};
template <int vectors, int... rows>
constexpr auto kernels_of(std::integer_sequence<int, rows...>) {
    return std::array{TileKernels{steps_of_tile<rows + 1, vectors>, sums_of_tile<rows + 1, vectors>}...};
}
const TileKernels& kernels_of(const QuadTile& tile) {
    using Rows = std::make_integer_sequence<int, int(quad_rows)>;
    static constexpr std::array kernels{kernels_of<1>(Rows()), kernels_of<2>(Rows())};
    return kernels[tile.columns > lanes][size_t(tile.rows - 1)];
}

constexpr QuadUnit vectors_unit{
    .name = "vectors",
    .rows = quad_rows,
    .whole = 1,
    .depth = word,
    .takes_signed = false,
    .begin = [](const QuadTile&) {},
    .end = [] {},
    .steps = [](const QuadTile& tile, const QuadSteps& steps,
                QuadPending&) { kernels_of(tile).steps(tile, steps); },
    .finish = [](const QuadSteps&, QuadPending&) {},
    .sums = [](const QuadTile& tile, int32_t* sums) { kernels_of(tile).sums(tile, sums); }};

}  // namespace

bool has_quads() { return cpu_isa() >= Isa::avx512_vnni; }

const QuadUnit* quad_vectors() { return has_quads() ? &vectors_unit : nullptr; }

}  // namespace mge::cpu
