// SPDX-License-Identifier: Apache-2.0
#pragma once
// --shapes: several shapes of inputs in one run.

#include <string>
#include <vector>

#include "libmge/tensor/shape.h"

namespace mge::load_and_run {

// The shapes of one test, by input; empty where the input keeps the model's.
struct InputShapes {
    std::vector<Shape> by_input;
    std::string text;  // "x:(1,3,224,224)"
};

// Parses "x:(1,3,224,224),(1,3,256,256);y:(1,8)" into one entry per shape of the list. An input with one
// shape has it in all of them. `names` are those of the inputs; a model with one input needs no name. Throws
// UserError for other text and for lists of different lengths.
std::vector<InputShapes> parse_shapes(const std::string& given, const std::vector<std::string>& names);

}  // namespace mge::load_and_run
