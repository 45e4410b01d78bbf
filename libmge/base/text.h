// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts made of parts, each with its operator<<.

#include <initializer_list>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "libmge/base/api.h"

namespace mge {

// Out of memory, std::ostringstream truncates its text silently; this class throws std::bad_alloc. It also
// writes numbers independently of the locale: 1234.5, not "1.234,5" with such a locale (std::locale::global).
class TextStream : public std::ostringstream {
public:
    TextStream() {
        exceptions(std::ios_base::badbit);
        imbue(std::locale::classic());
    }
};

// One part of a text: characters, a number, or another value, which outlives the text's expression, with the
// function that writes its type.
class TextPart {
public:
    TextPart(const char* value) : value_(std::string_view(value)) {}
    template <class T>
    TextPart(const T& value) : value_(part(value)) {}

private:
    struct Streamed {
        const void* value;
        void (*write)(std::ostream& stream, const void* value);
    };
    using Part = std::variant<std::string_view, long long, unsigned long long, Streamed>;

    template <class T>
    static Part part(const T& value) {
        constexpr bool is_number = std::is_integral_v<T> && sizeof(T) > 1;  // smaller ones are characters
        if constexpr (std::is_convertible_v<const T&, std::string_view>)
            return std::string_view(value);
        else if constexpr (is_number && std::is_signed_v<T>)
            return static_cast<long long>(value);
        else if constexpr (is_number)
            return static_cast<unsigned long long>(value);
        else
            return Streamed{&value, &write<T>};
    }
    template <class T>
    static void write(std::ostream& stream, const void* value) {
        stream << *static_cast<const T*>(value);
    }

    friend MGE_API std::string join_text(std::initializer_list<TextPart> parts);
    Part value_;
};

MGE_API std::string join_text(std::initializer_list<TextPart> parts);

// text("axis ", 7, " of ", shape): everything that has operator<<, joined. The parts have lost their types
// where they are joined: most texts have a combination of types of their own, and each would be a function.
template <class... Args>
std::string text(const Args&... args) {
    return join_text({args...});
}

}  // namespace mge
