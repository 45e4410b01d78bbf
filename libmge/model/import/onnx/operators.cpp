// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators.h"

#include <algorithm>
#include <vector>

#include "libmge/model/import/onnx/import_rows.h"
#include "libmge/model/import/onnx/onnx.h"

namespace mge::onnx {
namespace {

// All rows, sorted by name and versions.
const std::vector<ImportRow>& all_rows() {
    static const std::vector<ImportRow> all = [] {
        std::vector<ImportRow> rows;
        for (auto rows_of_file : import_rows)
            for (auto& row : rows_of_file()) rows.push_back(row);
        std::ranges::sort(rows, {}, [](auto& row) { return std::pair(row.name, row.first); });
        auto twice = std::ranges::adjacent_find(
            rows, [](auto& a, auto& b) { return a.name == b.name && b.first <= a.last; });
        MGE_CHECK(twice == rows.end(), "two rules read ONNX's ", twice->name);
        return rows;
    }();
    return all;
}

}  // namespace

bool is_standard(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

const ImportRow* find_operator(std::string_view domain, std::string_view name, int opset) {
    std::string full_name = is_standard(domain) ? std::string(name) : text(domain, '.', name);
    for (auto& row : std::ranges::equal_range(all_rows(), std::string_view(full_name), {}, &ImportRow::name))
        if (opset >= row.first && opset <= row.last) return &row;
    return nullptr;
}

std::vector<std::tuple<std::string, int, int>> known_operators() {
    std::vector<std::tuple<std::string, int, int>> result;
    for (auto& row : all_rows())
        if (!row.name.starts_with("com.microsoft.")) result.emplace_back(row.name, row.first, row.last);
    return result;
}

}  // namespace mge::onnx
