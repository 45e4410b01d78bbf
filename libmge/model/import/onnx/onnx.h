// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model files of the ONNX format, of any exporter. docs/formats/onnx.md says what is read and what is not.

#include "libmge/model/open.h"

namespace mge::onnx {

// Verifies everything before it believes anything. ModelError names the file, the place and the reason, and
// lists every operator that has no counterpart here. External data is looked for beside the file that the
// label names.
Model read_model(const ModelBytes& file);

}  // namespace mge::onnx
