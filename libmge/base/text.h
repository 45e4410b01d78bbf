// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts made of parts, each with its operator<<.

#include <initializer_list>
#include <locale>
#include <sstream>
#include <string>

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

// One part of a text: a value that outlives the text's expression, and the function that writes its type.
class TextPart {
public:
    template <class T>
    TextPart(const T& value) : value_(&value), write_(&write<T>) {}
    // For literals: one function for all of their lengths.
    TextPart(const char* value) : value_(value), write_(&write_characters) {}
    void write(std::ostream& stream) const { write_(stream, value_); }

private:
    template <class T>
    static void write(std::ostream& stream, const void* value) {
        stream << *static_cast<const T*>(value);
    }
    MGE_API static void write_characters(std::ostream& stream, const void* value);

    const void* value_;
    void (*write_)(std::ostream& stream, const void* value);
};

MGE_API std::string join_text(std::initializer_list<TextPart> parts);

// text("axis ", 7, " of ", shape): everything that has operator<<, joined. The parts have lost their types
// where they are joined: most texts have a combination of types of their own, and each would be a function.
template <class... Args>
std::string text(const Args&... args) {
    return join_text({args...});
}

}  // namespace mge
