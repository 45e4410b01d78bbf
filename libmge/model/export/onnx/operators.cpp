// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/operators.h"

#include <unordered_map>

#include "libmge/model/export/onnx/export_rows.h"
#include "libmge/model/export/onnx/onnx.h"

namespace mge::to_onnx {

const ExportRow* find_operator(const OpInfo& op) {
    static const auto all = [] {
        std::unordered_map<const OpInfo*, ExportRow> rows;
        for (auto rows_of_file : export_rows)
            for (auto& row : rows_of_file())
                MGE_CHECK(rows.emplace(row.op, row).second, "two rules write ", row.op->name);
        return rows;
    }();
    auto row = all.find(&op);
    return row == all.end() ? nullptr : &row->second;
}

}  // namespace mge::to_onnx

namespace mge {

std::vector<std::pair<std::string, std::string>> onnx_counterparts() {
    std::vector<std::pair<std::string, std::string>> result;
    for (auto* op : all_ops())
        if (auto* row = to_onnx::find_operator(*op)) result.emplace_back(op->name, row->type);
    return result;
}

}  // namespace mge
