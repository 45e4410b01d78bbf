// SPDX-License-Identifier: Apache-2.0
#pragma once
// Profiles that are read from texts.

#include <span>
#include <string>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/inspect/profile/profile.h"

namespace mge::test {

inline Profile read_text(std::string_view text) {
    return read_profile(std::as_bytes(std::span(text)), "f.json");
}

// The error of reading it.
inline std::string fault_of(std::string_view text) {
    try {
        read_text(text);
    } catch (const ModelError& e) {
        return e.what();
    }
    return "no fault";
}

}  // namespace mge::test
