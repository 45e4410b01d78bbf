// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/matrix_tiles.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmge/device/cpu/cpu_device.h"

namespace mge::cpu {
namespace {

struct alignas(64) TileShapes {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_per_row[16] = {};
    uint8_t rows[16] = {};
};
constexpr TileShapes whole_tiles = [] {
    TileShapes shapes;
    for (int i = 0; i < 8; ++i) {
        shapes.bytes_per_row[i] = tile_row_bytes;
        shapes.rows[i] = tile_rows;
    }
    return shapes;
}();

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
__attribute__((target("amx-tile"))) void end_tiles() { _tile_release(); }

}  // namespace mge::cpu
