// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts made of parts, each with its operator<<.

#include <locale>
#include <sstream>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// std::ostringstream for want of memory ends its text somewhere and says nothing; this one throws
// std::bad_alloc. And it writes numbers the same wherever a program runs: 1234.5, not "1.234,5" where the
// program has asked for such a language (std::locale::global).
class TextStream : public std::ostringstream {
public:
    TextStream() {
        exceptions(std::ios_base::badbit);
        imbue(std::locale::classic());
    }
};

// A stream that its thread keeps for the next text: to make one takes longer than to write what most texts
// say, and compiling a graph writes thousands (the keys of the fast-run cache, labels).
class MGE_API LentStream {
public:
    LentStream();
    ~LentStream();
    LentStream(const LentStream&) = delete;
    LentStream& operator=(const LentStream&) = delete;
    std::ostream& operator*() { return *stream_; }
    std::string text() const { return std::string(stream_->view()); }

private:
    TextStream* stream_;
};

// text("axis ", 7, " of ", shape): everything that has operator<<, joined.
template <class... Args>
std::string text(const Args&... args) {
    LentStream stream;
    (*stream << ... << args);
    return stream.text();
}

}  // namespace mge
