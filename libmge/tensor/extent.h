// SPDX-License-Identifier: Apache-2.0
#pragma once
// A size of a shape: a number, or a polynomial with integer coefficients over named symbols, such as `2*seq +
// 1`. The functions floordiv(a, b), min(a, b) and max(a, b) can replace a symbol; a % b is a - b*floordiv(a,
// b). Normal forms are interned: equal forms have equal handles, and an Extent is as cheap to copy as a
// number. All functions here are thread-safe.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/error.h"

namespace mge {

// The values that a symbol may take, both ends included.
struct ExtentBounds {
    static constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();
    int64_t lower = 0, upper = unbounded;
    bool operator==(const ExtentBounds&) const = default;
};

// The answer depends on the values of symbols.
class MGE_API Undecidable : public UserError {
public:
    explicit Undecidable(const std::string& message) : UserError(message, ErrorClass::value) {}
};

class MGE_API Extent {
public:
    // Numbers are at least this; everything below is a handle.
    static constexpr int64_t least_number = -(int64_t(1) << 62);

    constexpr Extent(int64_t number = 0) : raw_(number < least_number ? least_number : number) {}
    // Symbols with the same name and bounds are the same.
    static Extent symbol(std::string_view name, const ExtentBounds& bounds = {});

    // The number itself, or the handle of a symbolic extent, which is valid in this process.
    int64_t raw() const { return raw_; }
    static constexpr Extent from_raw(int64_t raw) {
        Extent extent;
        extent.raw_ = raw;
        return extent;
    }
    // True if this process made the handle; numbers from outside may be anything.
    static bool is_handle(int64_t raw) { return raw < least_number && is_known_handle(raw); }

    constexpr bool is_number() const { return raw_ >= least_number; }
    int64_t number() const;  // Undecidable if it is symbolic
    // Proven bounds of the value; `least_number` and `unbounded` without one.
    int64_t lower() const;
    int64_t upper() const;
    // The same normal form.
    constexpr bool is(const Extent& other) const { return raw_ == other.raw_; }

private:
    static bool is_known_handle(int64_t raw);
    int64_t raw_;
};

// Arithmetic is that of unbounded integers. A result beyond 62 bits is a UserError.
MGE_API Extent operator+(const Extent& a, const Extent& b);
MGE_API Extent operator-(const Extent& a, const Extent& b);
MGE_API Extent operator*(const Extent& a, const Extent& b);
MGE_API Extent operator-(const Extent& a);
inline Extent& operator+=(Extent& a, const Extent& b) { return a = a + b; }
inline Extent& operator-=(Extent& a, const Extent& b) { return a = a - b; }
inline Extent& operator*=(Extent& a, const Extent& b) { return a = a * b; }
// Rounds towards minus infinity. UserError for a divisor of 0; Undecidable if a symbolic one may be below 1.
MGE_API Extent floor_div(const Extent& a, const Extent& b);
MGE_API Extent ceil_div(const Extent& a, const Extent& b);
MGE_API Extent operator%(const Extent& a, const Extent& b);  // has the sign of b
// The q with a = q * b for all values of the symbols; nullopt if there is none.
MGE_API std::optional<Extent> exact_quotient(const Extent& a, const Extent& b);
MGE_API Extent min_of(const Extent& a, const Extent& b);
MGE_API Extent max_of(const Extent& a, const Extent& b);

// The relation proven by the bounds of the symbols; nullopt if neither is proven.
MGE_API std::optional<bool> is_equal(const Extent& a, const Extent& b);
MGE_API std::optional<bool> is_at_least(const Extent& a, const Extent& b);
// Undecidable if the bounds prove neither.
MGE_API bool operator==(const Extent& a, const Extent& b);
MGE_API bool operator>=(const Extent& a, const Extent& b);
inline bool operator<=(const Extent& a, const Extent& b) { return b >= a; }
inline bool operator<(const Extent& a, const Extent& b) { return !(a >= b); }
inline bool operator>(const Extent& a, const Extent& b) { return !(b >= a); }

// `2*s + 1`, `floordiv(h + 1, 2) - 1`.
MGE_API std::ostream& operator<<(std::ostream& stream, const Extent& extent);
// Parses such a text, and those of other tools: `2*s0+1`, `h//2`, `s**2`, `n % 8`, `Max(1, s)`. Nullopt for
// another text, for example a free name like `batch size`. All symbols get the same bounds.
MGE_API std::optional<Extent> parse_extent(std::string_view text, const ExtentBounds& bounds = {});

using ExtentValues = std::map<std::string, int64_t, std::less<>>;
// The names of its symbols, sorted.
MGE_API std::vector<std::string> symbols_of(const Extent& extent);
// Replaces symbols by other extents; symbols for which `find` returns nullopt are kept.
MGE_API Extent substitute(const Extent& extent,
                          const std::function<std::optional<Extent>(std::string_view symbol)>& find);
// UserError if a symbol has no value.
MGE_API int64_t evaluate(const Extent& extent, const ExtentValues& values);
// The one symbol of a linear form, and its value for `form == value`: 2*s + 1 == 257 gives s = 128. Nullopt
// if the form is not linear or has several symbols, and if no value within the bounds solves it.
struct SolvedSymbol {
    std::string name;
    int64_t value;
};
MGE_API std::optional<SolvedSymbol> solve(const Extent& form, int64_t value);

// A symbol with a coefficient of 1 or -1 that occurs nowhere else in the form, and its value where the form
// is 0: n - 2*s - 1 gives n = 2*s + 1. Nullopt if there is none.
struct ExpressedSymbol {
    std::string name;
    Extent value;
};
MGE_API std::optional<ExpressedSymbol> express(const Extent& form);

// A condition on extents that holds only for some values of the symbols.
struct Guard {
    enum class Relation : uint8_t { equal, at_least, broadcast };
    std::string who;
    Relation relation;
    Extent a, b;
};
// matmul: k == 2*n
MGE_API std::ostream& operator<<(std::ostream& stream, const Guard& guard);
MGE_API bool holds(const Guard& guard, const ExtentValues& values);

// Collects the guards of this thread for the life of the scope. Scopes nest; the innermost one collects.
class MGE_API GuardScope {
public:
    GuardScope();
    ~GuardScope();
    GuardScope(const GuardScope&) = delete;
    GuardScope& operator=(const GuardScope&) = delete;
    const std::vector<Guard>& guards() const { return guards_; }
    void add(Guard guard);

private:
    std::vector<Guard> guards_;
    GuardScope* outer_;
};

// Requirements of `who`: false if one is disproved. One that is neither proved nor disproved becomes a guard
// of the innermost scope and is assumed; without a scope it is Undecidable.
MGE_API bool can_be_equal(std::string_view who, const Extent& a, const Extent& b);
MGE_API bool can_be_at_least(std::string_view who, const Extent& a, const Extent& b);
// NumPy broadcasting of two extents; nullopt if they never fit.
MGE_API std::optional<Extent> broadcast_extents(std::string_view who, const Extent& a, const Extent& b);

}  // namespace mge
