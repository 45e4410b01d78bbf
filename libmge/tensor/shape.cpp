// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/shape.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "libmge/base/error.h"

namespace mge {
namespace {

void check_rank(size_t rank) {
    if (rank > size_t(max_rank))
        throw_value_error("shape", "rank ", rank, " is above the largest supported rank ", max_rank);
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
    check_rank(dims.size());
    bool has_negative = false;
    for (int64_t d : dims) {
        has_negative |= d < 0;
        if (d < 0 && !Extent::is_handle(d)) throw_value_error("shape", "extent ", d, " is negative");
    }
    std::copy(dims.begin(), dims.end(), dims_.begin());
    rank_ = int8_t(dims.size());
    has_symbols_ = has_negative;
}

void Shape::require_number(int i) const {
    if (!extent(i).is_number()) throw_symbols();
}

void Shape::throw_symbols() const { throw Undecidable(text("shape ", *this, " has open extents")); }

bool Shape::is_equal_to(const Shape& other) const {
    std::optional<bool> result = true;
    for (int i = 0; i < rank_; ++i) {
        auto is_same = is_equal(extent(i), other.extent(i));
        if (is_same && !*is_same) return false;
        if (!is_same) result.reset();
    }
    if (!result) throw Undecidable(text(*this, " == ", other, " depends on the values of its symbols"));
    return *result;
}

void Shape::find_symbols() {
    has_symbols_ = false;
    for (int i = 0; i < rank_; ++i) has_symbols_ |= !extent(i).is_number();
}

Extent Shape::elements() const {
    Extent n = 1;
    for (int i = 0; i < rank_; ++i) n *= extent(i);
    return n;
}

void Shape::insert(int at, const Extent& extent) {
    check_rank(size_t(rank_) + 1);
    std::copy_backward(dims_.begin() + at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
    ++rank_;
    set(at, extent);
}

void Shape::erase(int at) {
    std::copy(dims_.begin() + at + 1, dims_.begin() + rank_, dims_.begin() + at);
    --rank_;
    dims_[rank_] = 0;
    if (has_symbols_) find_symbols();
}

// Written in one piece: shapes are part of fast-run cache keys, and stream calls cost more than the digits.
std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
    if (!shape.is_known()) return stream << "(?)";
    if (shape.has_symbols()) {
        stream << '(';
        for (int i = 0; i < shape.rank(); ++i) stream << (i ? ", " : "") << shape.extent(i);
        return stream << (shape.rank() == 1 ? ",)" : ")");
    }
    constexpr size_t longest_extent = std::numeric_limits<int64_t>::digits10 + 4;  // sign, comma, space
    char buffer[max_rank * longest_extent + 3], *end = buffer;
    *end++ = '(';
    for (int i = 0; i < shape.rank(); ++i) {
        if (i) end = std::copy_n(", ", 2, end);
        end = std::to_chars(end, std::end(buffer), shape[i]).ptr;
    }
    if (shape.rank() == 1) *end++ = ',';
    *end++ = ')';
    return stream << std::string_view(buffer, size_t(end - buffer));
}

int normalize_axis(std::string_view who, int64_t axis, int rank) {
    if (axis < -rank || axis >= rank)
        throw_value_error(who, "axis ", axis, " is out of range for rank ", rank);
    return int(axis < 0 ? axis + rank : axis);
}

Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b) {
    const Shape& longer = a.rank() >= b.rank() ? a : b;
    const Shape& shorter = a.rank() >= b.rank() ? b : a;
    Shape result = longer;
    int offset = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank(); ++i) {
        Extent x = longer.extent(i + offset), y = shorter.extent(i);
        if (x.is(y) || y.is(1)) continue;
        auto both = x.is(1) ? std::optional(y) : broadcast_extents(who, x, y);
        if (!both)
            throw_user(who, text("shapes ", a, " and ", b, " do not broadcast: sizes must be equal or 1"));
        result.set(i + offset, *both);
    }
    return result;
}

bool can_be_same(std::string_view who, const Shape& a, const Shape& b) {
    if (!a.has_symbols() && !b.has_symbols()) return a == b;
    bool result = a.rank() == b.rank();
    for (int i = 0; result && i < a.rank(); ++i) result = can_be_equal(who, a.extent(i), b.extent(i));
    return result;
}

bool can_be_repeated(std::string_view who, const Shape& x, const Shape& to) {
    bool result = x.rank() <= to.rank();
    for (int i = 1; result && i <= x.rank(); ++i) {
        Extent have = x.extent(x.rank() - i), wanted = to.extent(to.rank() - i);
        if (have.is(1) || have.is(wanted)) continue;
        auto is_one = is_equal(have, 1), is_same = is_equal(have, wanted);
        if (is_one.value_or(false)) continue;
        if (is_one)
            result = can_be_equal(who, have, wanted);
        else if (is_same)
            result = *is_same || can_be_equal(who, have, 1);
        else
            result = broadcast_extents(who, have, wanted).has_value();
    }
    return result;
}

int64_t checked_numel(std::string_view who, const Shape& shape) {
    constexpr int64_t largest = int64_t(1) << 59;  // ×8 bytes stays below 2^63
    int64_t n = 1;
    for (int64_t d : shape.dims())
        if (__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n) || n > largest)
            throw_value_error(who, "shape ", shape, " has more elements than memory can hold");
    return std::ranges::count(shape.dims(), 0) ? 0 : n;
}

}  // namespace mge
