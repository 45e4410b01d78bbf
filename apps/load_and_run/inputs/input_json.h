// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "libmge/tensor/tensor.h"

namespace mge::load_and_run {

// MegEngine's JSON of inputs: {"NAME": {"shape": [..], "type": "float32", "raw": [numbers, row by row]}}; raw
// may be nested. ModelError with the file, the input and the fault.
std::map<std::string, Tensor> read_json_inputs(const std::string& path);

}  // namespace mge::load_and_run
