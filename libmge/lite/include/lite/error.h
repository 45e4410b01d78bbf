// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <string>

#include "lite/macro.h"

namespace lite {

// The exception of all Lite functions: an invalid argument, file or state, or a failure of the system. The
// message names the function or file, the given value and the allowed ones.
class LITE_API Error : public std::exception {
public:
    explicit Error(const std::string& message) : text_("Error: " + message) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

}  // namespace lite
