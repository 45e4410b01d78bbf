// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/dropout.h"
#include "libmge/model/export/onnx/parts.h"

namespace mge::to_onnx {
namespace {

// In inference nothing is dropped.
Operands export_dropout(Site& s) {
    if (s.is_read(1)) unsupported("its mask is read");
    return {s.in(0)};
}

}  // namespace

ExportRows dropout_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Dropout::info, export_dropout, "Identity"},
    };
    return rows;
}

}  // namespace mge::to_onnx
