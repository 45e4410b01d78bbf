// SPDX-License-Identifier: Apache-2.0
#pragma once
// Three kinds of errors: UserError (the caller must change something), InternalError (a broken invariant of
// the library, with its location), DeviceError (a device or the system failed). Tools map them to exit codes,
// Python to exception classes.

#include <stdexcept>
#include <string>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/base/text.h"

namespace mge {

// Exit codes of the tools; the same numbers in docs/error-codes.md.
enum class ErrorCode : int {
    internal = 1,
    usage = 2,
    regression = 3,
    device = 4,
    model = 5,
    crypto = 6,
    accuracy = 7,
    memory = 8,
};

// Which builtin exception class a Python caller expects.
enum class ErrorClass { runtime, value, type, index, key, assertion, not_implemented };

// The base of all errors of the library. The message names the operator, file or option concerned.
class MGE_API Error : public std::runtime_error {
public:
    Error(ErrorCode code, ErrorClass error_class, const std::string& message)
        : std::runtime_error(message), code_(code), class_(error_class) {}
    ErrorCode code() const { return code_; }
    ErrorClass error_class() const { return class_; }

private:
    ErrorCode code_;
    ErrorClass class_;
};

// The caller must change something: an argument, an option, a file, the order of calls.
class MGE_API UserError : public Error {
public:
    explicit UserError(const std::string& message, ErrorClass error_class = ErrorClass::runtime)
        : Error(ErrorCode::usage, error_class, message) {}

protected:
    UserError(ErrorCode code, const std::string& message) : Error(code, ErrorClass::runtime, message) {}
};

// A model or data file that is damaged, hostile or of a foreign version.
class MGE_API ModelError : public UserError {
public:
    explicit ModelError(const std::string& message) : UserError(ErrorCode::model, message) {}
};

// A device, a driver or the system failed, or lacks a feature.
class MGE_API DeviceError : public Error {
public:
    explicit DeviceError(const std::string& message)
        : Error(ErrorCode::device, ErrorClass::runtime, message) {}

protected:
    DeviceError(ErrorCode code, const std::string& message) : Error(code, ErrorClass::runtime, message) {}
};

// An allocation failed, or exceeded a limit.
class MGE_API MemoryError : public DeviceError {
public:
    explicit MemoryError(const std::string& message) : DeviceError(ErrorCode::memory, message) {}
};

// A bug of the library; the message has file, line and condition.
class MGE_API InternalError : public Error {
public:
    explicit InternalError(const std::string& message)
        : Error(ErrorCode::internal, ErrorClass::runtime, message) {}
};

// Throws a UserError with the prefix [who]:
// throw_user("softmax", "axis 7 is out of range for rank 2") → "[softmax] axis 7 …"
[[noreturn]] MGE_API void throw_user(std::string_view who, const std::string& what,
                                     ErrorClass error_class = ErrorClass::runtime);
// With the parts of a message, for errors that are a ValueError or a TypeError in Python.
template <class... Parts>
[[noreturn]] void throw_value_error(std::string_view who, const Parts&... parts) {
    throw_user(who, text(parts...), ErrorClass::value);
}
template <class... Parts>
[[noreturn]] void throw_type_error(std::string_view who, const Parts&... parts) {
    throw_user(who, text(parts...), ErrorClass::type);
}
[[noreturn]] MGE_API void throw_internal(const char* file, int line, const char* condition,
                                         const std::string& what);

}  // namespace mge

// For invariants of the library; errors of users throw a UserError instead.
#define MGE_CHECK(condition, ...)                                              \
    do {                                                                       \
        if (!(condition)) [[unlikely]]                                         \
            ::mge::throw_internal(__FILE__, __LINE__, #condition,              \
                                  ::mge::text("" __VA_OPT__(, ) __VA_ARGS__)); \
    } while (false)
