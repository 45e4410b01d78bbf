// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/input_text.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "apps/cli/output/fit_numbers.h"
#include "libmge/base/error.h"
#include "libmge/device/device.h"

namespace mge::load_and_run {
namespace {

std::string_view without_blanks(std::string_view word) {
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    return word;
}

// False if the number is out of range or another text.
template <class T>
bool read_number(std::string_view word, T& value) {
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
}

double parse_number(std::string_view word, const std::string& whole) {
    word = without_blanks(word);
    double value = 0;
    if (!read_number(word, value)) refuse_input(text("'", word, "' in '", whole, "' is not a number"));
    return value;
}

std::vector<double> parse_numbers(std::string_view list, const std::string& whole) {
    std::vector<double> numbers;
    for (size_t at = 0; at <= list.size();) {
        size_t comma = std::min(list.find(',', at), list.size());
        numbers.push_back(parse_number(list.substr(at, comma - at), whole));
        at = comma + 1;
    }
    return numbers;
}

// One pass over the literal: its numbers in order, and the number of children of the lists at each depth.
class LiteralParser {
public:
    explicit LiteralParser(const std::string& text) : text_(text) {}

    std::vector<std::string_view> parse(Shape& shape) {
        parse_list(0, '\0');
        for (int64_t n : extents_) shape.push_back(n);
        return std::move(numbers_);
    }

private:
    void parse_list(size_t depth, char closing) {
        if (depth >= size_t(max_rank))
            refuse_input(text("'", text_, "' is nested more than ", max_rank, " deep"));
        int64_t children = 0;
        bool lists = next() == '[';
        for (;; ++children) {
            if (lists != (next() == '[')) refuse_input(mistake("numbers and lists are mixed"));
            if (lists) {
                ++at_;
                parse_list(depth + 1, ']');
            } else {
                size_t end = std::min(text_.find_first_of(",[]", at_), text_.size());
                numbers_.push_back(without_blanks(std::string_view(text_).substr(at_, end - at_)));
                parse_number(numbers_.back(), text_);
                at_ = end;
            }
            if (next() != ',') break;
            ++at_;
        }
        if (next() != closing)
            refuse_input(mistake(closing ? "a ']' is missing" : "there is text after the end"));
        if (closing) ++at_;
        if (extents_.size() <= depth) extents_.resize(depth + 1, -1);
        if (extents_[depth] >= 0 && extents_[depth] != children + 1)
            refuse_input(mistake("lists of one level differ in length"));
        extents_[depth] = children + 1;
    }
    char next() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    std::string mistake(const char* what) const {
        return text("'", text_, "': ", what, " at character ", at_ + 1);
    }

    const std::string& text_;
    size_t at_ = 0;
    std::vector<std::string_view> numbers_;
    std::vector<int64_t> extents_;
};

// The elements of an integer type; nullopt if a number is out of its range.
template <class T>
std::optional<Tensor> whole_numbers(std::span<const std::string_view> numbers, const Shape& shape) {
    Tensor result = empty_tensor({DTypeOf<T>, shape, {}}, host_device);
    for (size_t i = 0; i < numbers.size(); ++i)
        if (!read_number(numbers[i], result.data<T>()[i])) return std::nullopt;
    return result;
}

}  // namespace

void refuse_input(const std::string& what) { throw_value_error("--input", what); }

Tensor parse_literal(const std::string& literal) {
    Shape shape;
    auto numbers = LiteralParser(literal).parse(shape);
    if (literal.find_first_of(".eEnN") != std::string::npos) {
        Tensor result = empty_tensor({DType::f64, shape, {}}, host_device);
        for (size_t i = 0; i < numbers.size(); ++i)
            result.data<double>()[i] = parse_number(numbers[i], literal);
        return result;
    }
    if (auto result = whole_numbers<int32_t>(numbers, shape)) return *result;
    if (auto result = whole_numbers<int64_t>(numbers, shape)) return *result;
    if (auto result = whole_numbers<uint64_t>(numbers, shape)) return *result;
    refuse_input(text("'", literal, "': no integer dtype holds all the numbers"));
}

// Appends a dimension that was written as a number.
void add_extent(Shape& shape, double extent, const std::string& where) {
    constexpr double largest = 1e15;  // exact as a double, and larger than any memory
    if (extent < 0 || extent != std::floor(extent) || extent > largest)
        refuse_input(text("'", where, "': ", extent, " is not a dimension"));
    shape.push_back(int64_t(extent));
}

Shape parse_braced_shape(const std::string& braced) {
    if (braced.size() < 2 || braced.front() != '{' || braced.back() != '}')
        refuse_input(text("'", braced, "': a '}' is missing"));
    Shape shape;
    if (braced.size() == 2) return shape;
    for (double extent : parse_numbers(std::string_view(braced).substr(1, braced.size() - 2), braced))
        add_extent(shape, extent, braced);
    checked_numel("--input", shape);
    return shape;
}

RandomInput parse_random(const std::string& call) {
    constexpr std::string_view head = "#rand(";
    if (call.rfind(head, 0) != 0 || call.back() != ')')
        refuse_input(text("'", call, "': expected #rand(min,max,extents...)"));
    std::string_view list = std::string_view(call).substr(head.size(), call.size() - head.size() - 1);
    RandomInput result;
    if (size_t comma = list.rfind(',');
        comma != list.npos && without_blanks(list.substr(comma + 1)) == "...") {
        result.takes_rest = true;
        list = list.substr(0, comma);
    }
    auto numbers = parse_numbers(list, call);
    if (numbers.size() < 2 || !(numbers[0] <= numbers[1]))
        refuse_input(text("'", call, "': expected #rand(min,max,extents...) with min <= max"));
    result.low = numbers[0], result.high = numbers[1];
    Shape shape;
    for (size_t i = 2; i < numbers.size(); ++i) add_extent(shape, numbers[i], call);
    checked_numel("--input", shape);
    result.shape.assign(shape.begin(), shape.end());
    return result;
}

}  // namespace mge::load_and_run
