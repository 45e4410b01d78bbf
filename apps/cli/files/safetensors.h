// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libmge/tensor/tensor.h"

namespace mge::cli {

// Writes named tensors in the format of Hugging Face (https://github.com/huggingface/safetensors): eight
// bytes with the length of a JSON header, the header, the data. Writes the file atomically; `metadata` is
// free text.
void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace mge::cli
