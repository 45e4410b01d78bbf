// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/model/import/megengine/record.h"

namespace mge::megengine {

// Checks that each tensor has as many bytes as its shape and dtype require. In a file with compressed weights
// (according to `is_flagged`, or the sizes) each value is a byte followed by data of the form that the byte
// specifies:
//
//     0: the elements.  1: f32 scale, f32 offset, a byte for each element.  2: the same with 16 bits each.
//
// Elements of the latter two are scale * q + offset; they are expanded into memory that the record owns.
// ModelError names the tensor.
void check_weights(ModelRecord& record, bool is_flagged, const std::string& label);

}  // namespace mge::megengine
