// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/number_list.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "apps/cli/options/numbers.h"
#include "libmge/base/error.h"

namespace mge::cli {
namespace {

constexpr size_t most_numbers = 1024;

struct Range {
    int64_t first = 0, last = 0, step = 1;
    bool multiplies = false;
    int64_t after(int64_t number) const { return multiplies ? number * step : number + step; }
};

// Reads a number from the front of `word`, and removes it. Nothing else: no sign.
std::optional<int64_t> take_number(std::string_view& word) {
    int64_t number = 0;
    if (word.empty() || word[0] < '0' || word[0] > '9') return std::nullopt;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc()) return std::nullopt;
    word.remove_prefix(size_t(end - word.data()));
    return number;
}

// Returns nullopt for text that is not a range.
std::optional<Range> parse_range(std::string_view word) {
    Range range;
    auto first = take_number(word);
    if (!first || word.empty() || word[0] != '-') return std::nullopt;
    word.remove_prefix(1);
    auto last = take_number(word);
    if (!last) return std::nullopt;
    range.first = *first, range.last = *last;
    if (word.empty()) return range;
    range.multiplies = word[0] == '*';
    if (!range.multiplies && word[0] != '+') return std::nullopt;
    word.remove_prefix(1);
    auto step = take_number(word);
    if (!step || !word.empty()) return std::nullopt;
    range.step = *step;
    return range;
}

// Returns what is wrong with the range; empty if nothing is.
std::string refusal_of(const Range& range, const std::string& word, int64_t least, uint64_t most) {
    auto in_bounds = whole_number(least, most);
    for (int64_t end : {range.first, range.last})
        if (auto refusal = in_bounds(std::to_string(end)); !refusal.empty())
            return text("range '", word, "': ", refusal);
    if (range.last < range.first) return text("the range '", word, "' is empty");
    if (range.step < (range.multiplies ? 2 : 1) || (range.multiplies && range.first == 0))
        return text("the range '", word, "' does not end: use a larger step");
    return {};
}

bool is_like_range(const std::string& word) { return word.find_first_of("-*+", 1) != word.npos; }

// For CLI::Option::check.
std::string refusal_of_word(const std::string& word, int64_t least, uint64_t most) {
    if (word.empty() || !is_like_range(word)) return whole_number(least, most)(word);
    try {
        (void)parse_numbers(word, least, most);
    } catch (const UserError& e) {
        return e.what();
    }
    return {};
}

}  // namespace

std::vector<int64_t> parse_numbers(const std::string& word, int64_t least, uint64_t most) {
    auto range = parse_range(word);
    if (!range) {
        auto refusal = whole_number(least, most)(word);
        if (is_like_range(word))
            refusal = text("'", word, "' is not a range: expected 1-4, 1-16*2 or 8-32+8");
        if (!refusal.empty()) throw UserError(refusal);
        return {std::stoll(word)};
    }
    if (auto refusal = refusal_of(*range, word, least, most); !refusal.empty()) throw UserError(refusal);
    std::vector<int64_t> numbers;
    for (int64_t number = range->first; number <= range->last; number = range->after(number)) {
        if (numbers.size() == most_numbers)
            throw UserError(text("the range '", word, "' has more than ", most_numbers, " numbers"));
        numbers.push_back(number);
        if (range->multiplies && number > range->last / range->step) break;
        if (!range->multiplies && number > range->last - range->step) break;
    }
    return numbers;
}

CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& numbers,
                             const std::string& description, int64_t least, uint64_t most) {
    auto take = [&numbers, least, most](const std::vector<std::string>& words) {
        numbers.clear();
        for (auto& word : words)
            for (int64_t number : parse_numbers(word, least, most)) numbers.push_back(number);
    };
    return app.add_option_function<std::vector<std::string>>(names, take, description)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check([=](const std::string& word) { return refusal_of_word(word, least, most); })
        ->type_name("N,...");
}

}  // namespace mge::cli
