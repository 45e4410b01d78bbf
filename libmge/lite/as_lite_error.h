// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <new>
#include <utility>

#include "lite/error.h"

namespace lite {

// What `work` gives. What the engine or the standard library throws in it comes out as a lite::Error with the
// same text, and nested in that.
template <class Work>
auto as_lite_error(Work&& work) -> decltype(work()) {
    try {
        return std::forward<Work>(work)();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        std::throw_with_nested(Error("there is not enough memory"));
    } catch (const std::exception& e) {
        std::throw_with_nested(Error(e.what()));
    }
}

}  // namespace lite
