// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cli {

// The content of a file of flags, a list or JSON. Its objects take more memory than its text: ModelError when
// that could be more than a file may ask for (libmge/base/files/file_limit.h), UserError when it cannot be
// read.
std::string read_text_for_objects(const std::string& path);
// The same of JSON: ModelError when its values lie too deep in each other.
std::string read_json_text(const std::string& path);

}  // namespace mge::cli
