// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a packed model says about itself: how it wants to run, its inputs and outputs, and what is the
// application's.

#include <cstddef>
#include <span>
#include <string>

#include "libmge/lite/model_file.h"

namespace lite {

struct ModelInfo {
    std::span<const std::byte> text;
    std::string parser;      // LITE_default, or a name of register_parse_info_func()
    std::string model_name;  // to which the info has to belong
    std::string label;       // of the file, in errors
};

// Writes what the info says over `configuration`, and its extra_info. An info that says of itself that it is
// not valid changes nothing. Error when there is no such parser, or it cannot read the info.
void apply_model_info(const ModelInfo& info, Configuration& configuration, std::string& extra_info);

}  // namespace lite
