// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/problem_text.h"

namespace mge {
namespace {

// The closing bracket for the one at `open`; quoted strings are skipped.
size_t closing(std::string_view s, size_t open) {
    int depth = 0;
    for (size_t i = open; i < s.size(); ++i) {
        if (s[i] == '\'' || s[i] == '"') {
            i = s.find(s[i], i + 1);
            if (i == s.npos) return i;
        } else if (s[i] == '(') {
            ++depth;
        } else if (s[i] == ')' && --depth == 0) {
            return i;
        }
    }
    return s.npos;
}

// At the blanks outside of brackets.
std::vector<std::string> split_specs(std::string_view s) {
    std::vector<std::string> specs;
    std::string current;
    int depth = 0;
    for (char c : s) {
        depth += (c == '(') - (c == ')');
        if (c != ' ' || depth > 0) {
            current += c;
        } else if (!current.empty()) {
            specs.push_back(std::move(current));
            current.clear();
        }
    }
    if (!current.empty()) specs.push_back(std::move(current));
    return specs;
}

// Removes "name" from the start of the text and returns the part after it up to the next blank.
std::optional<std::string> take(std::string_view& s, std::string_view name) {
    if (!s.starts_with(name)) return std::nullopt;
    s.remove_prefix(name.size());
    size_t end = std::min(s.find(' '), s.size());
    std::string value(s.substr(0, end));
    s.remove_prefix(std::min(end + 1, s.size()));
    return value;
}

}  // namespace

std::optional<ProblemText> parse_problem(std::string_view key) {
    size_t open = key.find('('), close = open == key.npos ? key.npos : closing(key, open);
    size_t arrow = close == key.npos ? key.npos : key.find(" -> ", close);
    size_t tail = arrow == key.npos ? key.npos : key.find(" const=", arrow);
    if (tail == key.npos) return std::nullopt;
    ProblemText p{std::string(key.substr(0, open)),
                  std::string(key.substr(open + 1, close - open - 1)),
                  split_specs(key.substr(close + 1, arrow - close - 1)),
                  split_specs(key.substr(arrow + 4, tail - arrow - 4)),
                  {},
                  {},
                  {},
                  {}};
    std::string_view rest = key.substr(tail + 1);
    auto constants = take(rest, "const="), threads = take(rest, "threads="), precision = take(rest, "");
    auto beside = rest.empty() ? std::string{} : take(rest, "beside=");
    if (!constants || !threads || !precision || !beside || !rest.empty()) return std::nullopt;
    p.constants = *constants, p.threads = *threads, p.precision = *precision, p.beside = *beside;
    return p;
}

std::vector<std::string> without_layouts(const std::vector<std::string>& specs) {
    std::vector<std::string> result;
    for (auto& spec : specs) result.push_back(spec.substr(0, spec.rfind(')') + 1));
    return result;
}

std::vector<std::string> without_shapes(const std::vector<std::string>& specs) {
    std::vector<std::string> result;
    for (auto& spec : specs) result.push_back(spec.substr(0, spec.find('(')));
    return result;
}

}  // namespace mge
