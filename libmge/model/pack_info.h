// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/model/pack.h"

namespace mge {

// The JSON text of a packed model. MegEngine's stream ciphers leave zeros or garbage after it, which are
// removed. ModelError if a required field is missing or has another type, or it is for a model other than
// `model_name`.
MGE_API PackedInfo parse_packed_info(std::string_view data, const std::string& label,
                                     const std::string& model_name);

// The user's JSON completed with the required fields; `name` overrides the JSON's, which overrides
// `default_name`. UserError if it is not a JSON object.
MGE_API PackedInfo complete_packed_info(const std::string& json, const std::string& name,
                                        const std::string& default_name);

}  // namespace mge
