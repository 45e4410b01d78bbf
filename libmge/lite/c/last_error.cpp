// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/c/last_error.h"

#include <exception>
#include <new>
#include <string>

#include "lite-c/global_c.h"
#include "lite/error.h"

namespace lite::c {
namespace {

struct LastError {
    ErrorCode code = OK;
    const char* text = "";
    std::string kept;  // owner of `text`, unless that is a literal
};

LastError& last_error() {
    thread_local LastError error;
    return error;
}

void record(ErrorCode code, const char* text) noexcept try {
    auto& error = last_error();
    error.code = code;
    error.kept = text;
    error.text = error.kept.c_str();
} catch (...) {
    last_error().text = "Error: there is not enough memory to say what went wrong";
}

}  // namespace

int record_failure() noexcept {
    try {
        throw;
    } catch (const Error& e) {
        record(LITE_INTERNAL_ERROR, e.what());
    } catch (const std::bad_alloc&) {
        record(LITE_INTERNAL_ERROR, "Error: there is not enough memory");
    } catch (const std::exception& e) {
        try {
            record(LITE_INTERNAL_ERROR, Error(e.what()).what());
        } catch (...) {
            record(LITE_INTERNAL_ERROR, e.what());
        }
    } catch (...) {
        record(LITE_UNKNOWN_ERROR, "Error: an exception is not a std::exception");
    }
    return -1;
}

}  // namespace lite::c

using lite::c::last_error;

ErrorCode LITE_get_last_error_code() { return last_error().code; }
const char* LITE_get_last_error() { return last_error().text; }
void LITE_clear_last_error() {
    last_error().code = OK;
    last_error().text = "";
}
