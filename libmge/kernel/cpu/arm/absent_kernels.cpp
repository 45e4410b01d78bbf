// SPDX-License-Identifier: Apache-2.0
// Kernels that only x86-64 has: the functions that say so, and those that are never called then.
#include "libmge/base/error.h"
#include "libmge/kernel/cpu/convolution/quad_windows.h"
#include "libmge/kernel/cpu/product/bf16_pixels.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/cpu/product/digit_row.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/cpu/product/split_product.h"

namespace mge::cpu {
namespace {

[[noreturn]] void refuse() {
    throw_internal(__FILE__, __LINE__, "has the kernel", "this architecture does not have it");
}

}  // namespace

bool has_matrix_tiles() { return false; }
void begin_tiles() { refuse(); }
void begin_tiles(int64_t, int64_t, int64_t) { refuse(); }
void end_tiles() { refuse(); }

bool has_bf16_tiles() { return false; }
int64_t bf16_depth(int64_t) { refuse(); }
void multiply_bf16(const Bf16Tile&, const Bf16Finish&, Bf16Pending&) { refuse(); }
void finish_bf16(const Bf16Finish&, Bf16Pending&) { refuse(); }
void add_bf16(const Bf16Sums&, bool) { refuse(); }
void transpose_pixels(const PixelBlock&, uint16_t*, int64_t) { refuse(); }
void pair_pixels(const PixelBlock&, uint16_t*) { refuse(); }
void join_planes(const std::array<const uint16_t*, joined_planes>&, int64_t, uint16_t*) { refuse(); }

bool has_split_products() { return false; }
std::optional<int> split_exponent(const SplitLargest&) { refuse(); }
std::optional<int> pack_split(const SplitSource&, bool, int, SplitStep*) { refuse(); }
bool can_split_meanwhile(const SplitSource&, bool) { refuse(); }
void multiply_split(const SplitStep*, const SplitStep*, int64_t, const SplitWork&, SplitSums&) { refuse(); }
void store_split(const SplitPending&) { refuse(); }

bool has_quads() { return false; }
const QuadUnit* quad_vectors() { return nullptr; }
const QuadUnit* quad_matrices() { return nullptr; }

bool has_digit_rows(const CompressedWeight&) { return false; }
bool make_digits(const CompressedWeight&, const float*, DigitBlock*) { refuse(); }
void multiply_digits(const CompressedWeight&, const CompressedData&, const DigitBlock*, int64_t, int64_t,
                     float*) {
    refuse();
}

EntryFilling::EntryFilling(int64_t channels) : channels(channels), pixels(1) { refuse(); }
int64_t channel_of_sum(const EntryFilling&, int64_t) { refuse(); }
int64_t place_of_weight(int64_t, int64_t) { refuse(); }
void interleave_line(const EntryFilling&, const QuadLine&, uint8_t*) { refuse(); }
void multiply_windows(const QuadWindows&, const QuadSteps&) { refuse(); }
void multiply_windows(const QuadWindows&, int32_t*) { refuse(); }

}  // namespace mge::cpu
