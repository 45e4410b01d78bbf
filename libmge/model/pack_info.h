// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/model/pack.h"

namespace mge {

// The JSON text of a packed model. MegEngine's stream ciphers leave zeros or garbage behind it, which are cut
// off. ModelError when what the format requires is missing or of another type, or it is for another model
// than `model_name`.
MGE_API PackedInfo parse_packed_info(std::string_view data, const std::string& label,
                                     const std::string& model_name);

// The user's JSON with what the format requires; `name` wins over the JSON's, which wins over `default_name`.
// UserError when it is no JSON object.
MGE_API PackedInfo complete_packed_info(const std::string& json, const std::string& name,
                                        const std::string& default_name);

}  // namespace mge
