// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <streambuf>
#include <string>
#include <string_view>

namespace mge::cli {

// Text that is changed on its way to `target`, by whole lines: a character of several bytes may come in
// parts, and a line in many. What has no end yet goes on when the stream is flushed.
class WholeLines : public std::streambuf {
public:
    explicit WholeLines(std::streambuf* target) : target_(target) {}
    void redirect(std::streambuf* target) { target_ = target; }

protected:
    virtual std::string changed(std::string_view lines) const = 0;
    int overflow(int c) override;
    std::streamsize xsputn(const char* data, std::streamsize n) override;
    int sync() override;

private:
    bool pass_on(size_t count);
    std::streambuf* target_;
    std::string waiting_;
};

// The mark of a colour in text for a terminal. It contains a secret, so that names in files of others cannot
// set colours.
std::string color_mark(int code);
// How long the mark is that the text begins with; 0 when it is none.
size_t color_mark_length(std::string_view text);
// The same, for terminals' own "\033[31m" too: what takes no room in a line.
size_t color_length(std::string_view text);
// The escape sequence that replaces such a mark on a terminal: "\033[31m".
std::string color_code(std::string_view mark);

}  // namespace mge::cli
