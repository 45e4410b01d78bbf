// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two reasons for which a translation of a model to or from another format stops.

#include <string>

#include "libmge/base/error.h"

namespace mge {

// A part without a counterpart in the other format. Translators collect them, so that one error can name all.
struct Unsupported {
    std::string what;
};
template <class... Args>
[[noreturn]] void unsupported(const Args&... what) {
    throw Unsupported{text(what...)};
}
// For files that no program could read.
template <class... Args>
[[noreturn]] void invalid(const Args&... what) {
    throw UserError(text(what...));
}

}  // namespace mge
