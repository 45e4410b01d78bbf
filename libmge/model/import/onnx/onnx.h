// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model files of the ONNX format, of any exporter. docs/formats/onnx.md describes the supported parts.

#include <string>
#include <tuple>
#include <vector>

#include "libmge/model/open.h"

namespace mge::onnx {

// Verifies everything before it is used. ModelError names the file, the position and the reason, and lists
// every operator that has no counterpart here. External data is searched next to the file that the label
// names, and opened with `external`. The parsed file and its graph take at most ten times its size plus
// `growth_slack`, in bytes.
inline constexpr size_t usual_growth_slack = size_t(64) << 20;
MGE_API Model read_model(const ModelBytes& file, size_t growth_slack = usual_growth_slack,
                         FileAccess external = FileAccess::mapped);

// Every operator that is read, with the first and the last version of the operator set.
MGE_API std::vector<std::tuple<std::string, int, int>> known_operators();

}  // namespace mge::onnx
