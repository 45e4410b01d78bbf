// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <new>
#include <utility>

#include "lite/error.h"

namespace lite {

// Runs `work` and returns its result. Exceptions of the engine or the standard library become a lite::Error
// with the same text, which nests the original.
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
