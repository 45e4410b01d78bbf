// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/text_file.h"

#include "libmge/base/file.h"
#include "libmge/base/file_limit.h"

namespace mge::cli {

std::string read_text_for_objects(const std::string& path) {
    std::string content = read_text(path);
    FileBudget(path, content.size()).take(content.size(), memory_per_byte_of_text);
    return content;
}

}  // namespace mge::cli
