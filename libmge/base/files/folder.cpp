// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/folder.h"

#include "libmge/base/error.h"
#include "libmge/base/text.h"

namespace mge {

void make_folder(const std::filesystem::path& folder, std::string_view who) {
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (!error) return;
    std::string what = text("cannot make folder '", folder.string(), "': ", error.message());
    if (who.empty()) throw UserError(what);
    throw_value_error(who, what);
}

}  // namespace mge
