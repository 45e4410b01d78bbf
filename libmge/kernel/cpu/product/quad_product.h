// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of byte rows with a packed weight, exact in int32, by sums of four products in vectors (AVX-512
// VNNI) or by matrix instructions (AMX). The sums of a tile stay in registers, or in its thread's L1 cache,
// until they are rounded to byte steps.

#include <cstdint>
#include <optional>
#include <span>

#include "libmge/kernel/cpu/rows/step_rows.h"

namespace mge::cpu {

inline constexpr int64_t quad_columns = 32, quad_lanes = 16, quad_word = 4;

// True if the processor sums four products in vectors and MGE_ISA permits it.
bool has_quads();

// Up to QuadUnit::rows rows by up to 32 columns of a product. Rows are `stride` bytes apart: the first
// `first_rows` of them from x, the others from `later`; those of y likewise.
struct QuadTile {
    const uint8_t *x, *later;
    int64_t stride;
    // The parts of a row are at these offsets, `part_bytes` long each, a multiple of QuadUnit::depth.
    std::span<const int64_t> parts;
    int64_t part_bytes;
    int64_t rows, first_rows, columns;
    bool is_signed;  // x contains i8
    // Words along k, those of the same k side by side: 16 of them if there are at most 16 columns, else 32.
    const int8_t* weight;
    const int32_t* start;        // per column, added to the sums; padded to quad_columns
    const float *scale, *shift;  // likewise; `shift` is read if QuadSteps::has_shift
    // Weight for later tiles, to be fetched into the L2 cache: so many bytes for each word along k.
    const int8_t* next;
    int64_t next_step;
    uint8_t *y, *y_later;
    int64_t y_stride;
    // The residual of y, in the same order; read if QuadSteps::has_residual.
    const uint8_t *residual, *residual_later;
};

// Steps that are the nearest to quotients (half to even) of sums and a scale, between bounds. Bit-identical
// to the scalar functions in ops/quantize/quantisation.h.
struct QuadSteps {
    float y_scale, inverse, rounded_off;
    int16_t zero, lower, upper;
    bool is_signed;
    bool is_short;  // the quotient needs no correction
    bool is_whole;  // the bounds are those of the byte
    // Operations on the real numbers of sums before they become steps.
    bool has_inner = false, has_shift = false, has_residual = false, is_residual_signed = false;
    bool is_inner_short = false;
    float residual_scale = 0, residual_zero = 0;
    // Quotients less the zero point: their scale and bounds.
    struct Inner {
        float scale, inverse, rounded_off, lower, upper;
    } inner{};
    bool is_plain() const { return !has_inner && !has_shift && !has_residual; }
};
// The operands of steps. `scales` are those of the sums. A scale may round shortly if that is known of it
// (rounds_shortly).
struct QuadOperands {
    std::span<const float> scales, shifts;
    bool has_residual, y_may_be_short, inner_may_be_short;
};
// Nullopt if the steps need other operations.
std::optional<QuadSteps> quad_steps(const StepMaking& m, const QuadOperands& operands);

// The sums of a tile, which become steps while the products of the next one are computed, and the place of
// the next one's sums. Each thread has one.
inline constexpr int64_t quad_most_rows = 32;
struct QuadPending {
    alignas(64) int32_t sums[2][size_t(quad_most_rows * quad_columns)];
    QuadTile tile;
    bool has_tile = false, is_second = false;

    const int32_t* sums_of_tile() const { return sums[is_second]; }
    int32_t* other_sums() { return sums[!is_second]; }
    // Its sums are in other_sums().
    void add(const QuadTile& t) {
        tile = t;
        has_tile = true;
        is_second = !is_second;
    }
};

// The instructions that multiply tiles.
struct QuadUnit {
    const char* name;
    int64_t rows;  // most of a tile
    // Tiles of more rows, which are neighbours, are divided into (rows + 1) / 2 and the others.
    int64_t whole;
    int64_t depth;  // QuadTile::part_bytes is a multiple of it
    bool takes_signed;
    // A thread multiplies tiles of some number of rows and first rows between the two, then of another after
    // another `begin`.
    void (*begin)(const QuadTile& tile);
    void (*end)();
    // The steps are there after the next call, or after `finish`.
    void (*steps)(const QuadTile& tile, const QuadSteps& steps, QuadPending& pending);
    void (*finish)(const QuadSteps& steps, QuadPending& pending);
    // sums[r * quad_columns + c] instead of y.
    void (*sums)(const QuadTile& tile, int32_t* sums);
};
// Null if the processor does not have the instructions or MGE_ISA forbids them.
const QuadUnit* quad_vectors();
const QuadUnit* quad_matrices();

}  // namespace mge::cpu
