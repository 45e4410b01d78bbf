// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "tests/fuzz/random.h"

namespace mge::fuzz {

// Some change of what an ONNX file says, through its messages: operators, wires, attributes, weights,
// extents, dtypes, versions, functions. Pieces of the models `others` come along. False: it is no message
// that can be parsed.
bool mutate_onnx(std::string& model, std::span<const std::string> others, Random& random);

}  // namespace mge::fuzz
