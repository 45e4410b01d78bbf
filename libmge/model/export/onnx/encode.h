// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>

#include "libmge/model/export/onnx/record.h"

namespace mge::to_onnx {

// Weights in a separate file are stored consecutively, aligned to this.
inline constexpr size_t external_alignment = 4096;

// Writes an ONNX file. With an `external` name the larger initialisers refer to that file, in the order of
// external_tensors(). UserError if it is too large for one file.
void encode(std::ostream& stream, const ModelRecord& model, const std::string& external = {});

struct ExternalTensor {
    size_t offset;
    Tensor tensor;
};
std::vector<ExternalTensor> external_tensors(const ModelRecord& model);

}  // namespace mge::to_onnx
