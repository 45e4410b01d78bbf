// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/extent.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "libmge/tensor/extent_bounds.h"
#include "libmge/tensor/undecided.h"

namespace mge {
namespace {

using Wide = __int128;
using Kind = ExtentAtom::Kind;

Extent number_of(Wide value) {
    ExtentTerms terms;
    add_term(terms, {}, value);
    return extent_of(terms);
}

// a - b, not interned.
ExtentTerms difference(const Extent& a, const Extent& b) {
    ExtentTerms terms = terms_of(a);
    for (auto& [product, k] : terms_of(b)) add_term(terms, product, -Wide(k));
    return terms;
}

bool are_numbers(const Extent& a, const Extent& b) { return a.is_number() && b.is_number(); }

int64_t floored(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Extent function(Kind kind, std::string_view name, const Extent& a, const Extent& b,
                const ExtentBounds& bounds) {
    return extent_of(intern({kind, text(name, a, ", ", b, ')'), a, b, bounds}));
}

ExtentBounds quotient_bounds(const Extent& a, const Extent& b) {
    int64_t lower = a.lower(), upper = a.upper();
    if (!b.is_number())
        return {lower >= 0 ? 0 : Extent::least_number, lower >= 0 ? upper : ExtentBounds::unbounded};
    return {lower == Extent::least_number ? lower : floored(lower, b.number()),
            upper == ExtentBounds::unbounded ? upper : floored(upper, b.number())};
}

// Long division: a = b * quotient + rest, where the first product of b divides no product of the rest.
struct Division {
    ExtentTerms quotient, rest;
};

std::optional<ExtentProduct> without_factors(const ExtentProduct& product, const ExtentProduct& factors) {
    ExtentProduct rest = product;
    for (const ExtentAtom* factor : factors) {
        auto found = std::ranges::find(rest, factor);
        if (found == rest.end()) return std::nullopt;
        rest.erase(found);
    }
    return rest;
}

Division divided(ExtentTerms a, const ExtentTerms& b) {
    Division result;
    auto& [first, first_coefficient] = *b.begin();
    while (!a.empty()) {
        auto [product, coefficient] = *a.begin();
        auto factor = without_factors(product, first);
        int64_t k = factor ? floored(coefficient, first_coefficient) : 0;
        // Numbers leave a remainder from 0 to the divisor; a part of a product is not split.
        bool is_split = factor && k && (first.empty() || coefficient % first_coefficient == 0);
        if (is_split) {
            add_term(result.quotient, *factor, k);
            for (auto& [p, c] : b) add_term(a, multiplied(*factor, p), -Wide(k) * c);
        }
        auto left = a.find(product);
        if (left == a.end()) continue;
        add_term(result.rest, product, left->second);
        a.erase(left);
    }
    return result;
}

// floordiv((floordiv(a, m) + r) / n) == floordiv(a + m*r, m*n)
std::optional<Extent> merged_division(const ExtentTerms& terms, int64_t n) {
    for (auto& [product, k] : terms) {
        if (k != 1 || product.size() != 1 || product[0]->kind != Kind::floordiv) continue;
        auto& inner = *product[0];
        if (!inner.b.is_number()) continue;
        return floor_div(inner.a + inner.b * (extent_of(terms) - extent_of(product[0])), inner.b * n);
    }
    return std::nullopt;
}

}  // namespace

Extent Extent::symbol(std::string_view name, const ExtentBounds& bounds) {
    if (bounds.lower == bounds.upper) return bounds.lower;
    return extent_of(intern({Kind::symbol, std::string(name), 0, 0, bounds}));
}

int64_t Extent::number() const {
    if (!is_number()) throw Undecidable(text("extent ", *this, " is not a number"));
    return raw_;
}

int64_t Extent::lower() const { return is_number() ? raw_ : least_value(terms_of(*this)); }
int64_t Extent::upper() const { return is_number() ? raw_ : largest_value(terms_of(*this)); }

Extent operator+(const Extent& a, const Extent& b) {
    if (are_numbers(a, b)) return number_of(Wide(a.raw()) + b.raw());
    if (a.is(0) || b.is(0)) return a.is(0) ? b : a;
    ExtentTerms terms = terms_of(a);
    for (auto& [product, k] : terms_of(b)) add_term(terms, product, k);
    return extent_of(terms);
}

Extent operator-(const Extent& a) { return a * -1; }
Extent operator-(const Extent& a, const Extent& b) { return b.is(0) ? a : extent_of(difference(a, b)); }

Extent operator*(const Extent& a, const Extent& b) {
    if (are_numbers(a, b)) return number_of(Wide(a.raw()) * b.raw());
    if (a.is(1) || b.is(1)) return a.is(1) ? b : a;
    ExtentTerms terms, of_b = terms_of(b);
    for (auto& [p, k] : terms_of(a))
        for (auto& [q, l] : of_b) add_term(terms, multiplied(p, q), Wide(k) * l);
    return extent_of(terms);
}

Extent floor_div(const Extent& a, const Extent& b) {
    if (b.is(0)) throw_value_error("shape", "a dimension is divided by 0");
    if (are_numbers(a, b)) return floored(a.raw(), b.raw());
    if (b.is(1)) return a;
    if (b.is_number() && b.raw() < 0) return floor_div(-a, -b);
    if (b.lower() < 1) throw Undecidable(text("divisor ", b, " may be below 1"));
    auto [quotient, rest] = divided(terms_of(a), terms_of(b));
    if (b.is_number())
        if (auto merged = merged_division(rest, b.number())) return extent_of(quotient) + *merged;
    Extent left = extent_of(rest);
    if (left.lower() >= 0 && is_at_least(b, left + 1).value_or(false)) return extent_of(quotient);
    return extent_of(quotient) + function(Kind::floordiv, "floordiv(", left, b, quotient_bounds(left, b));
}

Extent ceil_div(const Extent& a, const Extent& b) { return -floor_div(-a, b); }
Extent operator%(const Extent& a, const Extent& b) { return a - b * floor_div(a, b); }

std::optional<Extent> exact_quotient(const Extent& a, const Extent& b) {
    if (b.is(0)) return std::nullopt;
    auto [quotient, rest] = divided(terms_of(a), terms_of(b));
    return rest.empty() ? std::optional(extent_of(quotient)) : std::nullopt;
}

Extent min_of(const Extent& a, const Extent& b) {
    if (is_at_least(b, a).value_or(false)) return a;
    if (is_at_least(a, b).value_or(false)) return b;
    if (text(b) < text(a)) return min_of(b, a);
    UndecidedScope::note({Undecided::Question::which_is_larger, a, b});
    return function(Kind::min, "min(", a, b,
                    {std::min(a.lower(), b.lower()), std::min(a.upper(), b.upper())});
}

Extent max_of(const Extent& a, const Extent& b) {
    if (is_at_least(a, b).value_or(false)) return a;
    if (is_at_least(b, a).value_or(false)) return b;
    if (text(b) < text(a)) return max_of(b, a);
    UndecidedScope::note({Undecided::Question::which_is_larger, a, b});
    return function(Kind::max, "max(", a, b,
                    {std::max(a.lower(), b.lower()), std::max(a.upper(), b.upper())});
}

std::optional<bool> is_equal(const Extent& a, const Extent& b) {
    if (a.is(b)) return true;
    if (are_numbers(a, b)) return false;
    ExtentTerms terms = difference(a, b);
    int64_t divisor = 0, constant = 0;
    for (auto& [product, k] : terms)
        (product.empty() ? constant : divisor) = product.empty() ? k : std::gcd(divisor, k);
    if (divisor == 0 || constant % divisor) return false;
    if (least_value(terms) > 0 || largest_value(terms) < 0) return false;
    return std::nullopt;
}

std::optional<bool> is_at_least(const Extent& a, const Extent& b) {
    if (are_numbers(a, b)) return a.raw() >= b.raw();
    if (a.is(b)) return true;
    ExtentTerms terms = difference(a, b);
    if (least_value(terms) >= 0) return true;
    if (largest_value(terms) < 0) return false;
    return std::nullopt;
}

bool operator==(const Extent& a, const Extent& b) {
    if (auto answer = is_equal(a, b)) return *answer;
    UndecidedScope::note({Undecided::Question::is_equal, a, b});
    throw Undecidable(text(a, " == ", b, " depends on the values of its symbols"));
}

bool operator>=(const Extent& a, const Extent& b) {
    if (auto answer = is_at_least(a, b)) return *answer;
    UndecidedScope::note({Undecided::Question::is_at_least, a, b});
    throw Undecidable(text(a, " >= ", b, " depends on the values of its symbols"));
}

namespace {

void collect_symbols(const Extent& extent, std::set<std::string>& names) {
    if (extent.is_number()) return;
    for (auto& [product, k] : terms_of(extent))
        for (const ExtentAtom* atom : product) {
            if (atom->kind == Kind::symbol) names.insert(atom->text);
            collect_symbols(atom->a, names);
            collect_symbols(atom->b, names);
        }
}

}  // namespace

std::vector<std::string> symbols_of(const Extent& extent) {
    std::set<std::string> names;
    collect_symbols(extent, names);
    return {names.begin(), names.end()};
}

Extent substitute(const Extent& extent, const std::function<std::optional<Extent>(std::string_view)>& find) {
    if (extent.is_number()) return extent;
    auto value_of = [&](const ExtentAtom* atom) {
        if (atom->kind == Kind::symbol) return find(atom->text).value_or(extent_of(atom));
        Extent a = substitute(atom->a, find), b = substitute(atom->b, find);
        if (atom->kind == Kind::floordiv) return floor_div(a, b);
        return atom->kind == Kind::min ? min_of(a, b) : max_of(a, b);
    };
    Extent sum;
    for (auto& [factors, k] : terms_of(extent)) {
        Extent product = k;
        for (const ExtentAtom* atom : factors) product *= value_of(atom);
        sum += product;
    }
    return sum;
}

int64_t evaluate(const Extent& extent, const ExtentValues& values) {
    auto find = [&](std::string_view symbol) -> std::optional<Extent> {
        auto found = values.find(symbol);
        if (found != values.end()) return found->second;
        throw_value_error("shape", "symbol '", symbol, "' has no value");
    };
    return substitute(extent, find).number();
}

std::optional<SolvedSymbol> solve(const Extent& form, int64_t value) {
    const ExtentAtom* symbol = nullptr;
    int64_t coefficient = 0;
    Extent rest = value;
    for (auto& [product, k] : terms_of(form)) {
        if (product.empty()) {
            rest -= k;
            continue;
        }
        if (symbol || product.size() > 1 || product[0]->kind != Kind::symbol) return std::nullopt;
        symbol = product[0];
        coefficient = k;
    }
    if (!symbol || rest.number() % coefficient) return std::nullopt;
    int64_t solution = rest.number() / coefficient;
    if (solution < symbol->bounds.lower || solution > symbol->bounds.upper) return std::nullopt;
    return SolvedSymbol{symbol->text, solution};
}

std::optional<ExpressedSymbol> express(const Extent& form) {
    for (auto& [product, k] : terms_of(form)) {
        if (product.size() != 1 || product[0]->kind != Kind::symbol || (k != 1 && k != -1)) continue;
        Extent rest = form - extent_of(product[0]) * k;
        auto others = symbols_of(rest);
        if (std::ranges::find(others, product[0]->text) == others.end())
            return ExpressedSymbol{product[0]->text, rest * -k};
    }
    return std::nullopt;
}

}  // namespace mge
