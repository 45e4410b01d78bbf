// SPDX-License-Identifier: Apache-2.0
#pragma once
// The information of a packed model: its configuration, inputs and outputs, and data of the application.

#include <cstddef>
#include <span>
#include <string>

#include "libmge/lite/model_file.h"

namespace lite {

struct ModelInfo {
    std::span<const std::byte> text;
    std::string parser;      // LITE_default, or a name of register_parse_info_func()
    std::string model_name;  // to which the info has to belong
    std::string label;       // name of the file in errors
};

// Applies the info to `configuration`, and its extra_info. An info marked invalid changes nothing. Error if
// there is no such parser, or it cannot read the info.
void apply_model_info(const ModelInfo& info, Configuration& configuration, std::string& extra_info);

}  // namespace lite
