// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <streambuf>
#include <string>

#include "libmge/base/utf8.h"  // printable

namespace mge::cli {

// What of a terminal's abilities may be used; set once by App from --quiet, --no-color and NO_COLOR.
void allow_terminal(bool progress, bool colors);

// True when stderr is a terminal and progress is wanted.
bool shows_progress();

// Characters in a line of the terminal behind a descriptor; `otherwise` when there is none.
size_t terminal_width(int descriptor, size_t otherwise);

// Characters in a line of text for people; SIZE_MAX where there is no limit. Set once by the tool.
size_t text_width();
void limit_text_width(size_t characters);

// As much of UTF-8 text as so many characters are.
std::string first_characters(const std::string& text, size_t characters);

// The line of progress at the foot of the terminal on stderr: one at a time, cut to its width.
void show_line(const std::string& line);
// Takes it away, before anything else is written.
void erase_line();
// False while the last line that went through TextLines has no end: nothing may be drawn over it.
bool is_at_line_start();

// Text for people on its way to `target`, before which the line of progress is erased.
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

// One line on stderr.
void print_note(const std::string& line);

enum class Paint { bold = 1, red = 31, green = 32, yellow = 33 };
// The text in a colour where file descriptor 1 or 2 is a terminal that wants colours, else as it is: for what
// is written to the descriptor as it stands.
std::string paint(int descriptor, Paint color, const std::string& text);
// The same for std::cout, whose door lets only these colours through.
std::string painted(Paint color, const std::string& text);

}  // namespace mge::cli
