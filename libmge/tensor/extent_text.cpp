// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "libmge/base/text.h"
#include "libmge/tensor/extent_terms.h"

namespace mge {
namespace {

std::string product_text(const ExtentProduct& product) {
    std::string result;
    for (size_t i = 0, power = 1; i < product.size(); i += power) {
        power = 1;
        while (i + power < product.size() && product[i + power] == product[i]) ++power;
        result += text(result.empty() ? "" : "*", product[i]->text);
        if (power > 1) result += text("**", power);
    }
    return result;
}

// Deeper nesting than any tool writes.
constexpr int deepest_extent_text = 64;
constexpr int64_t largest_exponent = 8;
// Limits of a form: a short text such as ((s**8)**8)**8 expands to one that takes minutes.
constexpr size_t most_products = 64, most_factors = 64;

bool is_small(const Extent& extent) {
    const ExtentTerms terms = terms_of(extent);
    return terms.size() <= most_products && (terms.empty() || terms.begin()->first.size() <= most_factors);
}

// sum := product (('+' | '-') product)*
// product := factor (('*' | '//' | '%') factor)*
// factor := ('-' | '+') factor | primary ('**' number)?
// primary := number | name | function '(' sum ',' sum ')' | '(' sum ')'
class ExtentParser {
public:
    ExtentParser(std::string_view text, const ExtentBounds& bounds) : rest_(text), bounds_(bounds) {}

    std::optional<Extent> all() {
        auto result = sum();
        return result && next() == '\0' && rest_.empty() ? result : std::nullopt;
    }

private:
    using Result = std::optional<Extent>;
    using Function = Extent (*)(const Extent&, const Extent&);
    static constexpr std::pair<std::string_view, Function> functions[] = {
        {"floordiv(", floor_div}, {"FloorDiv(", floor_div},
        {"mod(", operator% },
         {"Mod(", operator% }, {"min(", min_of}, {"Min(", min_of}, {"max(", max_of}, {"Max(", max_of}};

    char next() {
        while (!rest_.empty() && std::isspace(uint8_t(rest_[0]))) rest_.remove_prefix(1);
        return rest_.empty() ? '\0' : rest_[0];
    }
    bool take(std::string_view token) {
        next();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }

    Result sum() {
        if (++depth_ > deepest_extent_text) return std::nullopt;
        Result result = product();
        while (result && (next() == '+' || next() == '-')) {
            bool is_added = take("+");
            if (!is_added) take("-");
            auto term = product();
            if (!term || !is_small(*result)) return std::nullopt;
            result = is_added ? *result + *term : *result - *term;
        }
        --depth_;
        return result;
    }

    Result product() {
        Result result = factor();
        while (result) {
            bool is_quotient = take("//"), is_rest = !is_quotient && take("%");
            if (!is_quotient && !is_rest && !take("*")) return result;
            auto other = factor();
            if (!other || !is_small(*result) || !is_small(*other)) return std::nullopt;
            result = is_quotient ? floor_div(*result, *other) : is_rest ? *result % *other : *result * *other;
        }
        return result;
    }

    Result factor() {
        int64_t sign = 1;
        while (next() == '-' || next() == '+')
            if (take("-"))
                sign = -sign;
            else
                take("+");
        Result base = primary();
        if (!base) return std::nullopt;
        if (take("**") || take("^")) {
            next();
            Result exponent = number();
            if (!exponent || exponent->number() > largest_exponent) return std::nullopt;
            Extent power = 1;
            for (int64_t i = 0; i < exponent->number(); ++i) {
                if (!is_small(*base) || !is_small(power)) return std::nullopt;
                power *= *base;
            }
            base = power;
        }
        return *base * sign;
    }

    Result number() {
        int64_t value = 0;
        auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{} || value < 0) return std::nullopt;
        rest_.remove_prefix(size_t(end - rest_.data()));
        return value;
    }

    Result primary() {
        char first = next();
        if (std::isdigit(uint8_t(first))) return number();
        if (take("(")) {
            Result inner = sum();
            return take(")") ? inner : std::nullopt;
        }
        for (auto& [name, function] : functions)
            if (take(name)) return arguments_of(function);
        auto is_part_of_name = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '.'; };
        auto end = std::ranges::find_if_not(rest_, is_part_of_name);
        std::string_view name(rest_.begin(), end);
        if (name.empty()) return std::nullopt;
        rest_.remove_prefix(name.size());
        return Extent::symbol(name, bounds_);
    }

    Result arguments_of(Function function) {
        Result a = sum();
        if (!a || !take(",")) return std::nullopt;
        Result b = sum();
        return b && take(")") ? Result(function(*a, *b)) : std::nullopt;
    }

    std::string_view rest_;
    ExtentBounds bounds_;
    int depth_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Extent& extent) {
    if (extent.is_number()) return stream << extent.raw();
    bool is_first = true;
    for (auto& [product, k] : terms_of(extent)) {
        std::string_view sign = is_first ? (k < 0 ? "-" : "") : (k < 0 ? " - " : " + ");
        uint64_t size = k < 0 ? uint64_t(0) - uint64_t(k) : uint64_t(k);
        stream << sign;
        if (product.empty() || size != 1) stream << size << (product.empty() ? "" : "*");
        stream << product_text(product);
        is_first = false;
    }
    return stream;
}

std::optional<Extent> parse_extent(std::string_view text, const ExtentBounds& bounds) {
    try {
        return ExtentParser(text, bounds).all();
    } catch (const UserError&) {
        return std::nullopt;  // a division by 0, or numbers out of the range of extents
    }
}

}  // namespace mge
