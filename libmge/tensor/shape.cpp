// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/shape.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>

#include "libmge/base/error.h"

namespace mge {
namespace {

void check_rank(size_t rank) {
    if (rank > size_t(max_rank))
        throw_user("shape", text("rank ", rank, " is above the largest supported rank ", max_rank),
                   ErrorClass::value);
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
    check_rank(dims.size());
    for (int64_t d : dims)
        if (d < 0) throw_user("shape", text("extent ", d, " is negative"), ErrorClass::value);
    std::copy(dims.begin(), dims.end(), dims_.begin());
    rank_ = int8_t(dims.size());
}

void Shape::push_back(int64_t extent) { insert(rank_, extent); }

void Shape::insert(int at, int64_t extent) {
    check_rank(size_t(rank_) + 1);
    std::copy_backward(dims_.begin() + at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
    dims_[at] = extent;
    ++rank_;
}

void Shape::erase(int at) {
    std::copy(dims_.begin() + at + 1, dims_.begin() + rank_, dims_.begin() + at);
    --rank_;
    dims_[rank_] = 0;
}

// Written in one piece: shapes are part of fast-run cache keys, and stream calls cost more than the digits.
std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
    if (!shape.is_known()) return stream << "(?)";
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
        throw_user(who, text("axis ", axis, " is out of range for rank ", rank), ErrorClass::value);
    return int(axis < 0 ? axis + rank : axis);
}

Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b) {
    const Shape& longer = a.rank() >= b.rank() ? a : b;
    const Shape& shorter = a.rank() >= b.rank() ? b : a;
    Shape result = longer;
    int offset = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank(); ++i) {
        int64_t x = longer[i + offset], y = shorter[i];
        if (x != y && x != 1 && y != 1)
            throw_user(who, text("shapes ", a, " and ", b, " do not broadcast: extents must be equal or 1"));
        result[i + offset] = x == 1 ? y : x;
    }
    return result;
}

int64_t checked_numel(std::string_view who, const Shape& shape) {
    constexpr int64_t largest = int64_t(1) << 59;  // ×8 bytes stays below 2^63
    int64_t n = 1;
    for (int64_t d : shape.dims())
        if (__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n) || n > largest)
            throw_user(who, text("shape ", shape, " has more elements than memory can hold"),
                       ErrorClass::value);
    return std::ranges::count(shape.dims(), 0) ? 0 : n;
}

}  // namespace mge
