// SPDX-License-Identifier: Apache-2.0
// The library's entry point: its name, which models that use its operators contain, and its operators.
#include "snake.h"

extern "C" MGE_API const mge::OperatorLibrary* mge_operators() {
    static constexpr auto tables = mge::operator_tables(mge::TypeList<example::Snake>{});
    static constexpr auto library = mge::make_operator_library("own_operator", tables);
    return &library;
}
