// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/whole_lines.h"

#include <algorithm>
#include <random>

namespace mge::cli {
namespace {

constexpr size_t longest_wait = 4096;

const std::string& color_head() {
    static const std::string head = [] {
        std::random_device random;
        return "\033" + std::to_string(random()) + std::to_string(random()) + "[";
    }();
    return head;
}

size_t length_after(std::string_view head, std::string_view text) {
    if (!text.starts_with(head)) return 0;
    size_t end = std::min(text.find_first_not_of("0123456789", head.size()), text.size());
    return end < text.size() && text[end] == 'm' && end - head.size() <= 2 ? end + 1 : 0;
}

}  // namespace

bool WholeLines::pass_on(size_t count) {
    std::string text = changed(std::string_view(waiting_).substr(0, count));
    waiting_.erase(0, count);
    return target_->sputn(text.data(), std::streamsize(text.size())) == std::streamsize(text.size());
}

std::streamsize WholeLines::xsputn(const char* data, std::streamsize n) {
    waiting_.append(data, size_t(n));
    size_t lines = waiting_.rfind('\n') + 1;  // 0 without a line end
    if (lines == 0 && waiting_.size() > longest_wait) lines = waiting_.size();
    return lines == 0 || pass_on(lines) ? n : 0;
}

int WholeLines::overflow(int c) {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    char character = traits_type::to_char_type(c);
    return xsputn(&character, 1) == 1 ? c : traits_type::eof();
}

int WholeLines::sync() {
    bool is_written = waiting_.empty() || pass_on(waiting_.size());
    return target_->pubsync() == 0 && is_written ? 0 : -1;
}

std::string color_mark(int code) { return color_head() + std::to_string(code) + "m"; }

size_t color_mark_length(std::string_view text) { return length_after(color_head(), text); }

size_t color_length(std::string_view text) {
    size_t mark = color_mark_length(text);
    return mark ? mark : length_after("\033[", text);
}

std::string color_code(std::string_view mark) {
    return "\033[" + std::string(mark.substr(color_head().size()));
}

}  // namespace mge::cli
