// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vectorised elementwise computations: one for each functor of kernel/scalar that takes floats, on f32,
// with results in f32 or bool.

#include <type_traits>

#include "libmge/kernel/cpu/rows/rows.h"

namespace mge::cpu {

// For the best available instruction set. Declared for every functor and defined, one by one, in the
// .simd.cpp of its group: a missing definition fails the link of the functor's users.
template <class F>
RowsFn simd_rows();

// A group's computations for one instruction set, each beside the functor that it is of.
template <class F>
struct RowsOf {
    RowsFn run;
};
template <class... F>
struct RowTable {
    RowsFn rows[sizeof...(F)];
    constexpr explicit RowTable(RowsOf<F>... of) : rows{of.run...} {}

    template <class G>
    static constexpr size_t position_of() {
        static_assert((std::is_same_v<F, G> || ...), "the group's table has no row for this functor");
        size_t position = 0;
        bool found = false;
        ((found = found || std::is_same_v<F, G>, position += found ? 0 : 1), ...);
        return position;
    }
};

}  // namespace mge::cpu
