// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts made of parts, each with its operator<<.

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

// A stream that its thread keeps for the next text: constructing one takes longer than writing most texts,
// and compiling a graph writes thousands (keys of the fast-run cache, labels).
class MGE_API PooledStream {
public:
    PooledStream();
    ~PooledStream();
    PooledStream(const PooledStream&) = delete;
    PooledStream& operator=(const PooledStream&) = delete;
    std::ostream& operator*() { return *stream_; }
    std::string text() const { return std::string(stream_->view()); }

private:
    TextStream* stream_;
};

// text("axis ", 7, " of ", shape): everything that has operator<<, joined.
template <class... Args>
std::string text(const Args&... args) {
    PooledStream stream;
    (*stream << ... << args);
    return stream.text();
}

}  // namespace mge
