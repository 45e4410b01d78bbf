// SPDX-License-Identifier: Apache-2.0
// Integers by their bits.

#include "libmge/ops/elementwise/bits.h"

#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/bit_cast.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/tensor/narrow.h"

namespace mge::onnx {
namespace {

Tensors import_bit_shift(const Site& site) {
    std::string direction = site.attributes.word("direction", "");
    if (direction == "LEFT") return {ops::left_shift(site.in(0), site.in(1))};
    if (direction == "RIGHT") return {ops::right_shift(site.in(0), site.in(1))};
    invalid("its direction is '", direction, "', expected LEFT or RIGHT");
}

// A bool is a byte that is 0 or 1; numbers narrower than a byte use one each here, so that only those of one
// dtype share their bits.
Tensors import_bit_cast(const Site& site) {
    Tensor x = site.in(0);
    DType to = target_dtype(site), from = x.dtype();
    if (from == to) return {x};
    auto is_packed = [](DType dtype) { return is_narrow_int(dtype) || dtype == DType::e2m1; };
    if (is_packed(from) || is_packed(to)) unsupported("the bits of ", from, " as ", to);
    if (size_of(from) != size_of(to))
        invalid("it reads the bits of ", from, " as ", to, ", which has another size");
    if (from == DType::boolean) return {ops::bit_cast(as_dtype(x, DType::u8), {.dtype = to})};
    if (to != DType::boolean) return {ops::bit_cast(x, {.dtype = to})};
    Tensor byte = ops::bit_cast(x, {.dtype = DType::u8});
    return {ops::not_equal(byte, number(byte, 0))};
}

// x^n for n from 0 to 63, by squares; beyond them only powers of 0, 1 and -1 have a place in 64 bits.
Tensor whole_power(const Tensor& x, const Tensor& n) {
    Tensor result = ops::where(ops::equal(x, x), number(x, 1), x), square = x;
    for (int bit = 0; bit < 6; ++bit) {
        Tensor is_set = ops::not_equal(ops::bitwise_and(n, number(n, double(1 << bit))), number(n, 0));
        result = ops::where(is_set, ops::mul(result, square), result);
        square = ops::mul(square, square);
    }
    return result;
}

}  // namespace

// For a negative exponent, 1 / x rounded towards zero.
Tensor integer_power(const Tensor& x, const Tensor& exponent) {
    DType wide = is_unsigned(exponent.dtype()) ? DType::u64 : DType::i64;
    Tensor n = as_dtype(exponent, wide), parity = ops::bitwise_and(n, number(n, 1));
    Tensor small = ops::where(ops::greater(n, number(n, 63)), ops::add(parity, number(n, 62)), n);
    if (wide == DType::u64) return whole_power(x, small);
    Tensor is_below = ops::less(n, number(n, 0));
    Tensor power = whole_power(x, ops::where(is_below, parity, small));
    Tensor is_unit = ops::equal(ops::mul(x, x), number(x, 1));
    return ops::where(ops::logical_and(is_below, ops::logical_not(is_unit)), number(x, 0), power);
}

ImportRows bits_rows() {
    static constexpr ImportRow rows[] = {
        {"BitCast", import_bit_cast, 26},
        {"BitShift", import_bit_shift, 11},
    };
    return rows;
}

}  // namespace mge::onnx
