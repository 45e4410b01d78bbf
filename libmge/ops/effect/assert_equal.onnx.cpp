// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/model/export/onnx/operators.h"

namespace mge::to_onnx {
namespace {

// ONNX has no checks; the results of a model do not depend on them.
Operands export_assert_equal(Site& s) {
    if (s.is_read(0)) unsupported("ONNX has no equivalent for its result");
    return {};
}

}  // namespace

ExportRows assert_equal_rows() {
    static constexpr ExportRow rows[] = {{&ops::AssertEqual::info, export_assert_equal, "(nothing)"}};
    return rows;
}

}  // namespace mge::to_onnx
