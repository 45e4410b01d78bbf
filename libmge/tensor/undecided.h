// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "libmge/tensor/extent.h"

namespace mge {

// A comparison whose answer depends on the values of symbols.
struct Undecided {
    enum class Question : uint8_t { is_equal, is_at_least, which_is_larger };
    Question question;
    Extent a, b;
};

// Collects the comparisons of this thread that leave an extent, or an element of a shape, unknown or a
// function of symbols. Scopes nest; the innermost one collects.
class MGE_API UndecidedScope {
public:
    UndecidedScope();
    ~UndecidedScope();
    UndecidedScope(const UndecidedScope&) = delete;
    UndecidedScope& operator=(const UndecidedScope&) = delete;
    const std::vector<Undecided>& comparisons() const { return comparisons_; }
    // Does nothing without a scope.
    static void note(const Undecided& comparison);

private:
    std::vector<Undecided> comparisons_;
    UndecidedScope* outer_;
};

// True for a result of broadcasting that may be either of two extents.
MGE_API bool is_unknown_broadcast(const Extent& extent);

}  // namespace mge
