// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbol_table.h"

#include "libmge/tensor/extent_terms.h"

namespace mge {

Extent SymbolTable::get(const std::string& name, int64_t lower) {
    bounds_.try_emplace(name, ExtentBounds{.lower = lower});
    return find(name).value();
}

bool SymbolTable::learn(const Guard& guard) {
    try {
        Extent difference = up_to_date(guard.a) - up_to_date(guard.b);
        if (difference.is_number()) return false;
        if (guard.relation == Guard::Relation::equal) return learn_zero(difference);
        return guard.relation == Guard::Relation::at_least && learn_not_negative(difference);
    } catch (const UserError&) {
        return false;  // a form that has no numbers any more, or too large ones
    }
}

const SymbolTable::Solved& SymbolTable::solved() {
    for (auto& [name, extent] : solved_) extent = up_to_date(extent);
    return solved_;
}

// Symbols with other bounds are other symbols.
Extent SymbolTable::up_to_date(const Extent& extent) {
    return substitute(extent, [&](std::string_view name) { return find(name); });
}

// The value of a solved symbol may hold symbols that were solved later.
std::optional<Extent> SymbolTable::find(std::string_view name) {
    if (auto found = solved_.find(name); found != solved_.end())
        return found->second = up_to_date(found->second);
    auto bounds = bounds_.find(name);
    return bounds == bounds_.end() ? std::nullopt : std::optional(Extent::symbol(name, bounds->second));
}

namespace {

// form == 0 without the factors of all its products that are no 0: n*t - 6*n gives t - 6.
Extent without_common_factors(const Extent& form) {
    auto terms = terms_of(form);
    for (const ExtentAtom* atom : terms.begin()->first)
        if (atom->bounds.lower >= 1)
            if (auto rest = exact_quotient(form, extent_of(atom)); rest && !rest->is_number())
                return without_common_factors(*rest);
    return form;
}

}  // namespace

bool SymbolTable::learn_zero(const Extent& whole) {
    Extent form = without_common_factors(whole);
    if (auto number = solve(form, 0)) {
        solved_.insert_or_assign(number->name, number->value);
    } else if (auto other = express(form)) {
        solved_.insert_or_assign(other->name, other->value);
    } else {
        return false;
    }
    return true;
}

// form >= 0 excludes the least values of its only symbol.
bool SymbolTable::learn_not_negative(const Extent& form) {
    auto names = symbols_of(form);
    if (names.size() != 1) return false;
    auto bounds = bounds_.find(names[0]);
    if (bounds == bounds_.end()) return false;
    auto at = [&](int64_t value) { return evaluate(form, {{names[0], value}}); };
    constexpr int64_t most_steps = 64;
    const int64_t before = bounds->second.lower;
    while (bounds->second.lower < before + most_steps && at(bounds->second.lower) < 0) ++bounds->second.lower;
    return bounds->second.lower > before;
}

}  // namespace mge
