// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "libmge/tensor/undecided.h"

namespace mge {
namespace {

// Start of the name of a size that broadcasting leaves open.
constexpr std::string_view broadcast_symbol = "?broadcast(";

constinit thread_local GuardScope* innermost_scope = nullptr;
constinit thread_local UndecidedScope* innermost_undecided = nullptr;

bool assume(std::string_view who, Guard::Relation relation, const Extent& a, const Extent& b) {
    Guard guard{std::string(who), relation, a, b};
    if (!innermost_scope) throw Undecidable(text(guard, " depends on the values of its symbols"));
    innermost_scope->add(std::move(guard));
    return true;
}

}  // namespace

GuardScope::GuardScope() : outer_(std::exchange(innermost_scope, this)) {}
GuardScope::~GuardScope() { innermost_scope = outer_; }

void GuardScope::add(Guard guard) {
    bool is_known = std::ranges::any_of(guards_, [&](auto& other) {
        return other.relation == guard.relation && other.a.is(guard.a) && other.b.is(guard.b);
    });
    if (!is_known) guards_.push_back(std::move(guard));
}

UndecidedScope::UndecidedScope() : outer_(std::exchange(innermost_undecided, this)) {}
UndecidedScope::~UndecidedScope() { innermost_undecided = outer_; }

void UndecidedScope::note(const Undecided& comparison) {
    if (innermost_undecided) innermost_undecided->comparisons_.push_back(comparison);
}

bool can_be_equal(std::string_view who, const Extent& a, const Extent& b) {
    auto answer = is_equal(a, b);
    return answer ? *answer : assume(who, Guard::Relation::equal, a, b);
}

bool can_be_at_least(std::string_view who, const Extent& a, const Extent& b) {
    auto answer = is_at_least(a, b);
    return answer ? *answer : assume(who, Guard::Relation::at_least, a, b);
}

std::optional<Extent> broadcast_extents(std::string_view who, const Extent& a, const Extent& b) {
    if (a.is(b) || b.is(1)) return a;
    if (a.is(1)) return b;
    bool a_may_be_1 = is_equal(a, 1).value_or(true), b_may_be_1 = is_equal(b, 1).value_or(true);
    if (!a_may_be_1 && !b_may_be_1) {
        if (!can_be_equal(who, a, b)) return std::nullopt;
        return b.is_number() ? b : a;
    }
    assume(who, Guard::Relation::broadcast, a, b);
    if (!a_may_be_1) return a;
    if (!b_may_be_1) return b;
    if (a.lower() >= 1 && b.lower() >= 1) return max_of(a, b);
    // The other one is the result where one is 1, and it may be 0.
    return Extent::symbol(text(broadcast_symbol, a, ", ", b, ')'));
}

bool is_unknown_broadcast(const Extent& extent) {
    auto names = symbols_of(extent);
    return names.size() == 1 && names[0].starts_with(broadcast_symbol) && extent.is(Extent::symbol(names[0]));
}

std::ostream& operator<<(std::ostream& stream, const Guard& guard) {
    stream << guard.who << ": " << guard.a;
    switch (guard.relation) {
        case Guard::Relation::equal:
            return stream << " == " << guard.b;
        case Guard::Relation::at_least:
            return stream << " >= " << guard.b;
        case Guard::Relation::broadcast:
            return stream << " broadcasts with " << guard.b;
    }
    return stream;
}

bool holds(const Guard& guard, const ExtentValues& values) {
    int64_t a = evaluate(guard.a, values), b = evaluate(guard.b, values);
    if (guard.relation == Guard::Relation::equal) return a == b;
    if (guard.relation == Guard::Relation::at_least) return a >= b;
    return a == b || a == 1 || b == 1;
}

}  // namespace mge
