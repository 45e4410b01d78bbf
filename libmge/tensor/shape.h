// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/tensor/extent.h"

namespace mge {

inline constexpr int max_rank = 7;

// The sizes of a tensor, stored inline. Rank 0 is a scalar. A Shape may be unknown: the result of shape
// inference for values whose shape is known only at run time; reading the sizes of an unknown shape is an
// internal error. Sizes may be symbolic (extent.h). Reading a symbolic one as a number throws Undecidable, so
// that only code written on Extents computes with symbols.
class MGE_API Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
    // Takes numbers and handles (Extent::raw()). UserError above rank 7 or for a negative size.
    explicit Shape(std::span<const int64_t> dims);
    static Shape unknown() {
        Shape s;
        s.rank_ = -1;
        return s;
    }

    bool is_known() const { return rank_ >= 0; }
    int rank() const { return rank_; }
    int64_t operator[](int i) const {
        if (dims_[i] < 0) [[unlikely]]
            require_number(i);
        return dims_[i];
    }
    int64_t& operator[](int i) {
        if (dims_[i] < 0) [[unlikely]]
            require_number(i);
        return dims_[i];
    }
    const int64_t* begin() const {
        if (has_symbols_) [[unlikely]]
            throw_symbols();
        return dims_.data();
    }
    const int64_t* end() const { return dims_.data() + (rank_ < 0 ? 0 : rank_); }
    std::span<const int64_t> dims() const { return {begin(), end()}; }

    bool has_symbols() const { return has_symbols_; }
    Extent extent(int i) const { return Extent::from_raw(dims_[i]); }
    void set(int i, const Extent& extent) {
        dims_[i] = extent.raw();
        if (has_symbols_ || !extent.is_number()) [[unlikely]]
            find_symbols();
    }

    int64_t numel() const {
        int64_t n = 1;
        for (int64_t d : dims()) n *= d;
        return n;
    }
    // The same number, for symbolic extents too. UserError beyond 62 bits.
    Extent elements() const;
    // Undecidable if the values of symbols decide. Inlined: each eager operator compares shapes.
    [[gnu::always_inline]] bool operator==(const Shape& other) const {
        if (rank_ != other.rank_) return false;
        for (int i = 0; i < rank_; ++i)
            if (dims_[i] != other.dims_[i]) return (has_symbols_ || other.has_symbols_) && is_equal_to(other);
        return true;
    }

    void push_back(const Extent& extent) { insert(rank_, extent); }
    void insert(int at, const Extent& extent);
    void erase(int at);

private:
    void require_number(int i) const;
    [[noreturn]] void throw_symbols() const;
    bool is_equal_to(const Shape& other) const;
    void find_symbols();

    std::array<int64_t, max_rank> dims_{};  // Extent::raw()
    int8_t rank_ = 0;
    bool has_symbols_ = false;
};

MGE_API std::ostream& operator<<(std::ostream& stream, const Shape& shape);  // (2, 3), (5,), (), (?)

// Axis -rank … rank-1 → 0 … rank-1; UserError of `who` for other values.
MGE_API int normalize_axis(std::string_view who, int64_t axis, int rank);

// NumPy broadcasting of two shapes; UserError of `who` that names both if they do not fit.
MGE_API Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b);

// A requirement of `who`, like can_be_equal(): false if the shapes differ for all values of the symbols.
MGE_API bool can_be_same(std::string_view who, const Shape& a, const Shape& b);
// The same requirement that x broadcasts to exactly the shape `to`.
MGE_API bool can_be_repeated(std::string_view who, const Shape& x, const Shape& to);

// Checks that the number of elements and of bytes fit in 63 bits; UserError otherwise. Counts and strides
// multiply sizes in any order, so a size of 0 does not make others valid.
MGE_API int64_t checked_numel(std::string_view who, const Shape& shape);

}  // namespace mge
