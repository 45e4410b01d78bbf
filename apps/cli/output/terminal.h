// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <streambuf>
#include <string>

#include "libmge/base/utf8.h"  // printable

namespace mge::cli {

// Enables features of the terminal. Set once by App from --quiet, --no-color and NO_COLOR.
void allow_terminal(bool progress, bool colors);

// True if stderr is a terminal and progress is enabled.
bool shows_progress();

// Returns the columns of the terminal at a descriptor, or `otherwise` if it is not a terminal.
size_t terminal_width(int descriptor, size_t otherwise);

// Width of text for people in characters; SIZE_MAX means unlimited. Set once by the tool.
size_t text_width();
void limit_text_width(size_t characters);

// Returns the prefix of a UTF-8 text with at most that many characters.
std::string first_characters(const std::string& text, size_t characters);

// Shows the single progress line at the bottom of the terminal on stderr, cut to its width.
void show_line(const std::string& line);
// Erases the progress line. Call before writing anything else.
void erase_line();
// False if the last TextLines output did not end its line, so that nothing may be drawn over it.
bool is_at_line_start();

// Passes text to `target` after erasing the progress line.
class TextLines : public std::streambuf {
public:
    explicit TextLines(std::streambuf* target) : target_(target) {}
    std::streambuf* target() const { return target_; }

private:
    int overflow(int c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override { return target_->pubsync(); }
    std::streambuf* target_;
};

// Prints one line to stderr.
void print_note(const std::string& line);

enum class Paint { bold = 1, red = 31, green = 32, yellow = 33 };
// Colours text for direct output to descriptor 1 or 2; returns it unchanged unless that is a terminal with
// colours.
std::string paint(int descriptor, Paint color, const std::string& text);
// Colours text for std::cout, whose SafeText filter passes only these colours.
std::string painted(Paint color, const std::string& text);

}  // namespace mge::cli
