// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vectorised elementwise computations, by operator name: one table per group, each for the best
// instruction set that may be used.

#include <span>
#include <string_view>

#include "libmge/kernel/cpu/rows.h"

namespace mge::cpu {

using RowTable = std::span<const NamedRows>;

RowTable activation_row_table();
RowTable arithmetic_row_table();
RowTable comparison_row_table();
RowTable exponential_row_table();
RowTable trigonometric_row_table();

// Null when there is none of that name.
RowsFn find_simd_rows(std::string_view name);

}  // namespace mge::cpu
