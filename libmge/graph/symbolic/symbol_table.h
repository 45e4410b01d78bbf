// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libmge/tensor/extent.h"

namespace mge {

// Symbols by name: those that guards determine, and the bounds of the others.
class MGE_API SymbolTable {
public:
    using Solved = std::map<std::string, Extent, std::less<>>;

    // Returns the symbol, or its value if it is solved. The first call for a name sets the bound.
    Extent get(const std::string& name, int64_t lower);
    // Solves a symbol, or raises its lower bound. Returns true if the guard says something new.
    bool learn(const Guard& guard);
    const Solved& solved();
    // Replaces solved symbols, and those whose bounds have changed.
    Extent up_to_date(const Extent& extent);

private:
    std::optional<Extent> find(std::string_view name);
    bool learn_zero(const Extent& whole);
    bool learn_not_negative(const Extent& form);

    Solved solved_;
    std::map<std::string, ExtentBounds, std::less<>> bounds_;
};

}  // namespace mge
