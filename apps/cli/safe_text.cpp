// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/safe_text.h"

#include <algorithm>
#include <string_view>

#include "libmge/base/utf8.h"

namespace mge::cli {
namespace {

constexpr size_t longest_wait = 4096;

// How long the colour is that the text begins with: "\033[31m", "\033[0m"; 0 when it is none.
size_t color_length(std::string_view text) {
    if (!text.starts_with("\033[")) return 0;
    size_t end = std::min(text.find_first_not_of("0123456789", 2), text.size());
    return end < text.size() && text[end] == 'm' && end <= 4 ? end + 1 : 0;
}

// With every character that is more than text escaped.
std::string safe(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        size_t plain = std::min(text.find_first_of("\n\t\033"), text.size());
        result += printable(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        size_t count = text[0] == '\033' ? color_length(text) : 1;
        result += count ? std::string(text.substr(0, count)) : printable(text.substr(0, 1));
        text.remove_prefix(std::max<size_t>(count, 1));
    }
    return result;
}

}  // namespace

bool SafeText::pass_on(size_t count) {
    std::string text = safe(std::string_view(waiting_).substr(0, count));
    waiting_.erase(0, count);
    return target_->sputn(text.data(), std::streamsize(text.size())) == std::streamsize(text.size());
}

std::streamsize SafeText::xsputn(const char* data, std::streamsize n) {
    waiting_.append(data, size_t(n));
    size_t lines = waiting_.rfind('\n') + 1;  // 0 when there is no end of a line
    if (lines == 0 && waiting_.size() > longest_wait) lines = waiting_.size();
    return lines == 0 || pass_on(lines) ? n : 0;
}

int SafeText::overflow(int c) {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    char character = traits_type::to_char_type(c);
    return xsputn(&character, 1) == 1 ? c : traits_type::eof();
}

int SafeText::sync() {
    bool is_written = waiting_.empty() || pass_on(waiting_.size());
    return target_->pubsync() == 0 && is_written ? 0 : -1;
}

}  // namespace mge::cli
