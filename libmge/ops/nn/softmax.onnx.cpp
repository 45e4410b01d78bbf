// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/nn/softmax.h"

namespace mge::to_onnx {
namespace {

Operands export_softmax(Site& s) {
    auto& p = s.params<ops::Softmax>();
    std::string type = p.log ? "LogSoftmax" : "Softmax";
    if (s.opset() >= 13) return {s.emit(type, {s.in(0)}, {{"axis", p.axis}})};
    // Over all axes from that one on, in older operator sets: over one where that is the last.
    int rank = s.rank(0), axis = normalize_axis("softmax", p.axis, rank);
    IntList swapped(static_cast<size_t>(rank));
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[size_t(axis)], swapped.back());
    Operand y = s.emit(type, {s.transpose(s.in(0), swapped)}, {{"axis", int64_t(rank) - 1}});
    return {s.transpose(y, swapped)};
}

}  // namespace

ExportRows softmax_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Softmax::info, export_softmax, "Softmax"},
    };
    return rows;
}

}  // namespace mge::to_onnx
