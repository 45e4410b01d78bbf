// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>

#include "apps/cli/output/whole_lines.h"
#include "libmge/base/env.h"

namespace mge::cli {
namespace {

bool progress_allowed = true, colors_allowed = true;

constexpr size_t usual_width = 80;
size_t widest_text = SIZE_MAX;
constexpr auto erasing = "\r\033[K";

std::mutex line_mutex;
bool is_line_shown = false;
std::atomic<bool> at_line_start{true};

bool wants_colors(int descriptor) {
    // https://no-color.org: any value except an empty one.
    return colors_allowed && !env_string("NO_COLOR") && env_string("TERM") != "dumb" && ::isatty(descriptor);
}

std::string text_in(Paint color, const std::string& text, std::string (*code)(int)) {
    return code(int(color)) + text + code(0);
}

}  // namespace

void allow_terminal(bool progress, bool colors) {
    progress_allowed = progress;
    colors_allowed = colors;
}

bool shows_progress() { return progress_allowed && ::isatty(2); }

size_t terminal_width(int descriptor, size_t otherwise) {
    if (!::isatty(descriptor)) return otherwise;
    winsize size{};
    bool is_known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : usual_width;
}

std::string first_characters(const std::string& text, size_t characters) {
    size_t end = 0, count = 0;
    for (; end < text.size(); ++end) {
        bool is_begin = (uint8_t(text[end]) & 0xc0) != 0x80;
        if (is_begin && count++ == characters) break;
    }
    return text.substr(0, end);
}

size_t text_width() { return widest_text; }
void limit_text_width(size_t characters) { widest_text = characters; }

void show_line(const std::string& line) {
    std::lock_guard lock(line_mutex);
    // Some terminals wrap after the last column.
    std::string fitting = first_characters(printable(line), terminal_width(2, usual_width) - 1);
    std::fprintf(stderr, "\r%s\033[K", fitting.c_str());
    is_line_shown = true;
}

void erase_line() {
    std::lock_guard lock(line_mutex);
    if (std::exchange(is_line_shown, false)) std::fputs(erasing, stderr);
}

bool is_at_line_start() { return at_line_start; }

int TextLines::overflow(int c) {
    char text = traits_type::to_char_type(c);
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    return xsputn(&text, 1) == 1 ? c : traits_type::eof();
}

std::streamsize TextLines::xsputn(const char* text, std::streamsize size) {
    if (size <= 0) return 0;
    erase_line();
    at_line_start = text[size - 1] == '\n';
    return target_->sputn(text, size);
}

void print_note(const std::string& line) {
    erase_line();
    std::fprintf(stderr, "%s\n", line.c_str());
}

std::string paint(int descriptor, Paint color, const std::string& text) {
    return wants_colors(descriptor)
               ? text_in(color, text, [](int code) { return color_code(color_mark(code)); })
               : text;
}

std::string painted(Paint color, const std::string& text) {
    return wants_colors(STDOUT_FILENO) ? text_in(color, text, color_mark) : text;
}

}  // namespace mge::cli
