// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model files of the ONNX format, of any exporter. docs/formats/onnx.md says what is read and what is not.

#include <string>
#include <tuple>
#include <vector>

#include "libmge/model/open.h"

namespace mge::onnx {

// Verifies everything before it believes anything. ModelError names the file, the place and the reason, and
// lists every operator that has no counterpart here. External data is looked for beside the file that the
// label names. What is parsed and made of it takes no more than ten times its size and `growth_slack`, in
// bytes.
inline constexpr size_t usual_growth_slack = size_t(64) << 20;
MGE_API Model read_model(const ModelBytes& file, size_t growth_slack = usual_growth_slack);

// Every operator that is read, with the first and the last version of the operator set.
MGE_API std::vector<std::tuple<std::string, int, int>> known_operators();

}  // namespace mge::onnx
