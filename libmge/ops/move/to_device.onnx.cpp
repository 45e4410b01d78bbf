// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/move/to_device.h"
#include "libmge/model/export/onnx/parts.h"

namespace mge::to_onnx {

ExportRows to_device_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::ToDevice::info, export_identity, "Identity"},
    };
    return rows;
}

}  // namespace mge::to_onnx
