// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no byte products, so this uses the processor's intrinsics.
#include "libmge/kernel/cpu/product/byte_product.h"

#include <cpuid.h>
#include <immintrin.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t lanes = 16, word = 4;

// --- matrices: two tiles of 16 rows times two of 16 columns ---

template <bool is_signed>
__attribute__((target("amx-tile,amx-int8"))) void multiply_tiles(const ByteRows& a, const int8_t* weight,
                                                                 int32_t* sums) {
    constexpr int64_t weight_stride = product_columns * word;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t part : a.parts) {
        const uint8_t *upper = a.first + part, *lower = upper + tile_rows * a.stride;
        for (int64_t k = 0; k < a.part_bytes; k += tile_row_bytes, weight += tile_rows * weight_stride) {
            _tile_loadd(4, upper + k, a.stride);
            _tile_loadd(6, weight, weight_stride);
            _tile_loadd(7, weight + tile_row_bytes, weight_stride);
            _tile_loadd(5, lower + k, a.stride);
            if constexpr (is_signed) {
                _tile_dpbssd(0, 4, 6);
                _tile_dpbssd(1, 4, 7);
                _tile_dpbssd(2, 5, 6);
                _tile_dpbssd(3, 5, 7);
            } else {
                _tile_dpbusd(0, 4, 6);
                _tile_dpbusd(1, 4, 7);
                _tile_dpbusd(2, 5, 6);
                _tile_dpbusd(3, 5, 7);
            }
        }
    }
    constexpr int64_t sums_stride = product_columns * word;
    _tile_stored(0, sums, sums_stride);
    _tile_stored(1, sums + lanes, sums_stride);
    _tile_stored(2, sums + tile_rows * product_columns, sums_stride);
    _tile_stored(3, sums + tile_rows * product_columns + lanes, sums_stride);
}

bool multiplies_bytes_in_tiles() {
    constexpr unsigned int8 = 1u << 25;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_matrix_tiles() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & int8);
}

constexpr ByteProduct tiles{.name = "matrices",
                            .rows = 2 * tile_rows,
                            .depth = tile_row_bytes,
                            .word = word,
                            .panel = product_columns,
                            .takes_wide = false,
                            .begin = begin_tiles,
                            .end = end_tiles,
                            .multiply = multiply_tiles<false>,
                            .multiply_signed = multiply_tiles<true>};

}  // namespace

const ByteProduct* matrix_product() {
    static const bool has_tiles = multiplies_bytes_in_tiles();
    return has_tiles ? &tiles : nullptr;
}

}  // namespace mge::cpu
