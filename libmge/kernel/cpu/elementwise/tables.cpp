// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/elementwise/tables.h"

#include <unordered_map>

#include "libmge/kernel/cpu/highway_targets.h"

namespace mge::cpu {
namespace {

std::unordered_map<std::string_view, RowsFn> all_rows() {
    limit_highway_targets();
    std::unordered_map<std::string_view, RowsFn> by_name;
    for (RowTable table : {activation_row_table(), arithmetic_row_table(), comparison_row_table(),
                           exponential_row_table(), trigonometric_row_table()})
        for (auto& entry : table) by_name.emplace(entry.name, entry.run);
    return by_name;
}

}  // namespace

RowsFn find_simd_rows(std::string_view name) {
    static const auto by_name = all_rows();
    auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : it->second;
}

}  // namespace mge::cpu
