// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/matrix_tiles.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "libmge/device/cpu/cpu_device.h"

namespace mge::cpu {
namespace {

constexpr int64_t word = 4;

struct alignas(64) TileShapes {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_per_row[16] = {};
    uint8_t rows[16] = {};
};
constexpr TileShapes shapes_of(int64_t rows, int64_t later_rows, int64_t row_bytes) {
    TileShapes shapes;
    for (int i = 0; i < 8; ++i) {
        shapes.bytes_per_row[i] = tile_row_bytes;
        shapes.rows[i] = tile_rows;
    }
    for (int i : {0, 1, 4}) shapes.rows[i] = uint8_t(rows);
    for (int i : {2, 3, 5}) shapes.rows[i] = uint8_t(std::max<int64_t>(later_rows, 1));
    for (int i : {4, 5}) shapes.bytes_per_row[i] = uint16_t(row_bytes);
    for (int i : {6, 7}) shapes.rows[i] = uint8_t(row_bytes / word);
    return shapes;
}
constexpr TileShapes whole_tiles = shapes_of(tile_rows, tile_rows, tile_row_bytes);

// Requested from the system once per process.
bool may_keep_tiles() {
    constexpr long request_permission = 0x1023, tile_data = 18;
    return cpu_isa() >= Isa::amx && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

bool has_matrix_tiles() {
    static const bool may = may_keep_tiles();
    return may;
}

__attribute__((target("amx-tile"))) void begin_tiles() { _tile_loadconfig(&whole_tiles); }
__attribute__((target("amx-tile"))) void begin_tiles(int64_t rows, int64_t later_rows, int64_t row_bytes) {
    const TileShapes shapes = shapes_of(rows, later_rows, row_bytes);
    // GCC 12 believes that the instruction reads eight bytes.
    asm volatile("" : : "r"(&shapes) : "memory");
    _tile_loadconfig(&shapes);
}
__attribute__((target("amx-tile"))) void end_tiles() { _tile_release(); }

}  // namespace mge::cpu
