// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/error.h"

namespace mge {

void throw_user(std::string_view who, const std::string& what, ErrorClass error_class) {
    throw UserError(text('[', who, "] ", what), error_class);
}

void throw_internal(const char* file, int line, const char* condition, const std::string& what) {
    throw InternalError(text("internal error at ", file, ':', line, ": (", condition, ") is false",
                             what.empty() ? "" : ": ", what,
                             ". Please report this with the steps that led here."));
}

}  // namespace mge
