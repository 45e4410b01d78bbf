// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/text_file.h"

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/json_depth.h"

namespace mge::cli {

std::string read_text_for_objects(const std::string& path) {
    std::string content = read_text(path);
    FileBudget(path, content.size()).take(content.size(), memory_per_byte_of_text);
    return content;
}

std::string read_json_text(const std::string& path) {
    std::string content = read_text_for_objects(path);
    if (is_too_deep(content))
        throw ModelError(text("'", path, "' is nested more than ", deepest_json, " deep"));
    return content;
}

}  // namespace mge::cli
