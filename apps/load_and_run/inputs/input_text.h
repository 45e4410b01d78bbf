// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "libmge/tensor/tensor.h"

namespace mge::load_and_run {

// A UserError of --input.
[[noreturn]] void refuse_input(const std::string& what);

// "[[1,2],[3,4]]": MegEngine's literals. A '.' or an exponent anywhere makes it float64, otherwise it is the
// first of int32, int64 and uint64 that holds all numbers. Its shape is the number of elements per level of
// brackets, so "1,2,3" is (3,) and "[1,2,3]" is (1, 3). UserError with the position of a mistake.
Tensor parse_literal(const std::string& text);

// "{1,3,224,224}" → that shape.
Shape parse_braced_shape(const std::string& text);

// "#rand(min,max[,extents…][,...])".
struct RandomInput {
    double low = 0, high = 1;
    IntList shape;            // empty: the model's
    bool takes_rest = false;  // "...": the model's dimensions after these
};
RandomInput parse_random(const std::string& text);

}  // namespace mge::load_and_run
