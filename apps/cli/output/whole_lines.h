// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <streambuf>
#include <string>
#include <string_view>

namespace mge::cli {

// Transforms text on its way to `target` by whole lines: characters of several bytes, and lines, may arrive
// in pieces. An unfinished line is passed on when the stream is flushed.
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

// Returns a colour mark for terminal text. It contains a secret, so that names in untrusted files cannot set
// colours.
std::string color_mark(int code);
// Returns the length of the colour mark at the start of the text, or 0.
size_t color_mark_length(std::string_view text);
// Like color_mark_length(), also for terminal sequences such as "\033[31m". They take no columns.
size_t color_length(std::string_view text);
// Returns the escape sequence for a colour mark: "\033[31m".
std::string color_code(std::string_view mark);

}  // namespace mge::cli
