// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cli {

// Reads a file of flags, a list or JSON. Throws UserError if it cannot be read, and ModelError if its
// objects, which take more memory than the text, could exceed the file limit
// (libmge/base/files/file_limit.h).
std::string read_text_for_objects(const std::string& path);
// Reads JSON in the same way. Also throws ModelError if it is nested too deeply.
std::string read_json_text(const std::string& path);

}  // namespace mge::cli
