// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/wire/integer_range.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/bit_cast.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/convert/convert_narrow.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::to_onnx {
namespace {

// The remainder with the divisor's sign; ONNX says nothing about a divisor of 0.
struct GuardedDivision {
    Operand divisor, by_zero;  // by_zero is empty where the divisor is known not to be 0
};
GuardedDivision guard(Site& s) {
    if (Tensor value = s.constant_of(1)) {
        IntList all = integers_of(value);
        if (std::ranges::find(all, 0) == all.end()) return {s.in(1), {}};
    }
    Operand by_zero = s.emit("Equal", {s.in(1), s.number(0, s.dtype(1))});
    return {s.emit("Where", {by_zero, s.number(1, s.dtype(1)), s.in(1)}), by_zero};
}
Operand zero_where(Site& s, const Operand& mask, const Operand& x) {
    return mask.empty() ? x : s.emit("Where", {mask, s.number(0, s.dtype()), x});
}

Operands export_same(Site& s) { return {s.emit(std::string(s.type), s.all())}; }

Operands export_arithmetic(Site& s) {
    return {s.arithmetic(std::string(s.type), s.in(0), s.in(1), s.dtype())};
}

Operands export_rounding(Site& s) { return is_float(s.dtype()) ? export_same(s) : export_identity(s); }

// ONNX negates signed numbers only.
Operands export_neg(Site& s) {
    if (!is_unsigned(s.dtype())) return export_same(s);
    return {s.cast(s.emit("Neg", {s.cast(s.in(0), DType::i64)}), s.dtype())};
}

Operands export_bitwise(Site& s) {
    s.require_opset(18);
    return export_same(s);
}

Operands export_bitwise_not(Site& s) {
    if (s.opset() >= 18 || is_unsigned(s.dtype())) return export_bitwise(s);
    return {s.arithmetic("Sub", s.number(-1, s.dtype()), s.in(0), s.dtype())};  // ~x = -1 - x
}

Operands export_bit_cast(Site& s) {
    s.require_opset(26);
    return {s.emit("BitCast", {s.in(0)}, {{"to", type_number(s.params<ops::BitCast>().dtype)}})};
}

Operands export_convert(Site& s) { return {s.cast(s.in(0), s.dtype(), s.params<ops::Convert>().dtype)}; }

Operands export_convert_narrow(Site& s) {
    auto& p = s.params<ops::ConvertNarrow>();
    bool is_power = p.dtype == DType::e8m0;
    s.require_opset(is_power ? 24 : 19);
    Attributes attributes{{"to", int64_t(type_number(p.dtype))},
                          {"saturate", int64_t(p.overflow == Overflow::saturates)}};
    constexpr std::string_view roundings[] = {"up", "down", "nearest"};
    if (is_power) attributes.push_back({"round_mode", std::string(roundings[size_t(p.rounding)])});
    return {s.emit("Cast", {s.in(0)}, attributes)};
}

Operands export_clip(Site& s) {
    auto& p = s.params<ops::Clip>();
    if (is_float(s.dtype())) {
        auto bound = [&](double value) { return std::isinf(value) ? Operand() : s.number(value, s.dtype()); };
        return {clipped(s, s.in(0), s.dtype(), bound(p.lower), bound(p.upper))};
    }
    if (std::floor(p.lower) != p.lower || std::floor(p.upper) != p.upper)
        unsupported("integers with bounds that are not integers");
    // A bound beyond the range of the dtype would wrap around.
    auto [least, most] = onnx::integer_range(s.dtype());
    Operand lower, upper;
    if (p.lower > least) lower = s.number(std::min(p.lower, most), s.dtype());
    if (p.upper < most) upper = s.number(std::max(p.upper, least), s.dtype());
    return {clipped(s, s.in(0), s.dtype(), lower, upper)};
}

Operands export_extreme(Site& s) { return {s.extreme(std::string(s.type), s.in(0), s.in(1), s.dtype())}; }

Operands export_pow(Site& s) {
    if (!is_float(s.dtype())) s.require_opset(12);
    return export_same(s);
}

Operands export_comparison(Site& s) {
    // ONNX orders numbers only.
    bool is_bool = s.dtype() == DType::boolean && s.type != "Equal";
    auto operand = [&](size_t i) { return is_bool ? s.cast(s.in(i), DType::i32) : s.in(i); };
    if (s.type == "GreaterOrEqual") return {s.at_least(operand(0), operand(1))};
    if (s.type == "LessOrEqual" && s.opset() < 12) return {s.at_least(operand(1), operand(0))};
    return {s.emit(std::string(s.type), {operand(0), operand(1)})};
}

Operands export_not_equal(Site& s) { return {s.emit("Not", {s.emit("Equal", {s.in(0), s.in(1)})})}; }

// Integers are always finite and never NaN; half precision was added to ONNX later.
Operands export_float_test(Site& s) {
    DType tested = s.dtype() == DType::f64 ? DType::f64 : DType::f32;
    return {s.emit(std::string(s.type), {s.cast(s.in(0), s.dtype(), tested)})};
}

// Integer division: (a - a mod b) / b, which is exact. Division by zero gives 0.
Operands export_floor_div(Site& s) {
    if (is_float(s.dtype())) return {s.emit("Floor", {s.emit("Div", {s.in(0), s.in(1)})})};
    auto [divisor, by_zero] = guard(s);
    Operand rest = s.emit("Mod", {s.in(0), divisor});
    Operand multiple = s.arithmetic("Sub", s.in(0), rest, s.dtype());
    Operand quotient = s.arithmetic("Div", multiple, divisor, s.dtype());
    return {zero_where(s, by_zero, quotient)};
}

Operands export_mod(Site& s) {
    if (is_float(s.dtype())) return {s.emit("Mod", {s.in(0), s.in(1)}, {{"fmod", 1}})};
    auto [divisor, by_zero] = guard(s);
    return {zero_where(s, by_zero, s.emit("Mod", {s.in(0), divisor}))};
}

// ONNX shifts unsigned numbers only. In int64, where nothing narrower overflows:
//     a << b => a * 2^b      a >> b => (a - a mod 2^b) / 2^b
Operands export_shift(Site& s) {
    constexpr int64_t widest = 62;  // 2^63 is no int64
    bool is_left = s.node.op == &ops::LeftShift::info;
    if (s.dtype() == DType::u64)
        return {s.emit("BitShift", s.all(), {{"direction", std::string(is_left ? "LEFT" : "RIGHT")}})};
    Operand a = s.cast(s.in(0), s.dtype(0), DType::i64), b = s.cast(s.in(1), s.dtype(1), DType::i64);
    int64_t most = is_left ? int64_t(8 * size_of(s.dtype())) : widest;
    if (s.dtype() == DType::i64) unsupported("int64");
    // Powers of two are exact in float64.
    Operand exponent = s.extreme("Min", b, s.number(double(most), DType::i64), DType::i64);
    bool is_older = s.opset() < 12;
    Operand power =
        is_older ? s.cast(s.emit("Pow", {s.number(2, DType::f64), s.cast(exponent, DType::f64)}), DType::i64)
                 : s.emit("Pow", {s.number(2, DType::i64), exponent});
    Operand result = is_left ? s.emit("Mul", {a, power})
                             : s.emit("Div", {s.emit("Sub", {a, s.emit("Mod", {a, power})}), power});
    return {s.cast(result, s.out().dtype)};
}

// Halves away from zero, where ONNX goes to even numbers: sign(x) * (⌊|x|⌋ + (|x| - ⌊|x|⌋ >= ½)). Exact,
// unlike ⌊|x| + ½⌋.
Operands export_round(Site& s) {
    if (!is_float(s.dtype())) return export_identity(s);
    DType dtype = s.dtype();
    Operand magnitude = s.emit("Abs", {s.in(0)});
    Operand whole = s.emit("Floor", {magnitude});
    Operand rounds_up = s.at_least(s.emit("Sub", {magnitude, whole}), s.number(0.5, dtype));
    Operand rounded = s.emit("Add", {whole, s.cast(rounds_up, dtype)});
    return {s.emit("Mul", {s.emit("Sign", {s.in(0)}), rounded})};
}

Operands export_rsqrt(Site& s) { return {s.emit("Reciprocal", {s.emit("Sqrt", {s.in(0)})})}; }

Operands export_square(Site& s) { return {s.arithmetic("Mul", s.in(0), s.in(0), s.dtype())}; }

// e^x - 1 = tanh(x/2) (e^x + 1), which keeps its digits where e^x is almost 1.
Operands export_expm1(Site& s) {
    Operand tanh = s.emit("Tanh", {s.emit("Mul", {s.in(0), s.number(0.5, s.dtype())})});
    return {s.emit("Mul", {tanh, s.emit("Add", {s.emit("Exp", {s.in(0)}), s.number(1, s.dtype())})})};
}

// log(s) + (x - (s - 1))/s of the sum s = x + 1: with what its rounding lost, where it lost something.
Operands export_log1p(Site& s) {
    Operand one = s.number(1, s.dtype()), sum = s.emit("Add", {s.in(0), one}), log = s.emit("Log", {sum});
    Operand kept = s.emit("Sub", {sum, one});
    Operand lost = s.emit("Div", {s.emit("Sub", {s.in(0), kept}), sum});
    return {s.emit("Where", {s.emit("Equal", {s.in(0), kept}), log, s.emit("Add", {log, lost})})};
}

// max(a, b) + log(1 + e^-|a - b|)
Operands export_logaddexp(Site& s) {
    Operand distance = s.emit("Abs", {s.emit("Sub", {s.in(0), s.in(1)})});
    return {
        s.emit("Add", {s.emit("Max", {s.in(0), s.in(1)}), s.emit("Softplus", {s.emit("Neg", {distance})})})};
}

// The angle of (|b|, |a|), from the smaller over the larger of the two, mirrored into the quadrant of (b, a).
// The signs of zeros count.
Operands export_atan2(Site& s) {
    DType dtype = s.out().dtype;
    auto where = [&](const Operand& condition, const Operand& x, const Operand& y) {
        return s.emit("Where", {condition, x, y});
    };
    Operand zero = s.number(0, dtype), pi = s.number(std::numbers::pi, dtype);
    auto is_negative = [&](const Operand& x) {
        return s.emit("Or", {s.emit("Less", {x, zero}), s.emit("Less", {s.emit("Reciprocal", {x}), zero})});
    };
    Operand a = s.emit("Abs", {s.in(0)}), b = s.emit("Abs", {s.in(1)});
    Operand is_steep = s.emit("Greater", {a, b});
    Operand less = where(is_steep, b, a), more = where(is_steep, a, b);
    // Two zeros, and two infinities, have no quotient.
    Operand slope = where(s.emit("Equal", {less, more}), s.emit("Sign", {less}), s.emit("Div", {less, more}));
    Operand angle = s.emit("Atan", {slope});
    angle = where(is_steep, s.emit("Sub", {s.number(std::numbers::pi / 2, dtype), angle}), angle);
    angle = where(is_negative(s.in(1)), s.emit("Sub", {pi, angle}), angle);
    // A factor: ONNX Runtime's Where drops the sign of a zero.
    Operand sign = where(is_negative(s.in(0)), s.number(-1, dtype), s.number(1, dtype));
    return {s.emit("Mul", {angle, sign})};
}

}  // namespace

Operands export_identity(Site& s) { return {s.in(0)}; }

// Bounds may be empty.
Operand clipped(Site& s, const Operand& x, DType dtype, const Operand& lower, const Operand& upper) {
    if (s.opset() >= 12 || is_float(dtype)) return s.emit("Clip", {x, lower, upper});
    Operand y = lower.empty() ? x : s.extreme("Max", x, lower, dtype);
    return upper.empty() ? y : s.extreme("Min", y, upper, dtype);
}

namespace {

constexpr ExportRow export_rows[] = {
    {&ops::Abs::info, export_same, "Abs"},
    {&ops::Acos::info, export_same, "Acos"},
    {&ops::Acosh::info, export_same, "Acosh"},
    {&ops::Add::info, export_arithmetic, "Add"},
    {&ops::Asin::info, export_same, "Asin"},
    {&ops::Asinh::info, export_same, "Asinh"},
    {&ops::Atan::info, export_same, "Atan"},
    {&ops::Atan2::info, export_atan2, "Abs, Div, Atan, Where"},
    {&ops::Atanh::info, export_same, "Atanh"},
    {&ops::BitCast::info, export_bit_cast, "BitCast"},
    {&ops::BitwiseAnd::info, export_bitwise, "BitwiseAnd"},
    {&ops::BitwiseNot::info, export_bitwise_not, "BitwiseNot"},
    {&ops::BitwiseOr::info, export_bitwise, "BitwiseOr"},
    {&ops::BitwiseXor::info, export_bitwise, "BitwiseXor"},
    {&ops::Ceil::info, export_rounding, "Ceil"},
    {&ops::Clip::info, export_clip, "Clip"},
    {&ops::Convert::info, export_convert, "Cast"},
    {&ops::ConvertNarrow::info, export_convert_narrow, "Cast"},
    {&ops::Copy::info, export_identity, "Identity"},
    {&ops::Cos::info, export_same, "Cos"},
    {&ops::Cosh::info, export_same, "Cosh"},
    {&ops::Div::info, export_same, "Div"},
    {&ops::Equal::info, export_comparison, "Equal"},
    {&ops::Erf::info, export_same, "Erf"},
    {&ops::Exp::info, export_same, "Exp"},
    {&ops::Expm1::info, export_expm1, "Add, Exp, Mul, Tanh"},
    {&ops::Floor::info, export_rounding, "Floor"},
    {&ops::FloorDiv::info, export_floor_div, "Div, Floor"},
    {&ops::Greater::info, export_comparison, "Greater"},
    {&ops::GreaterEqual::info, export_comparison, "GreaterOrEqual"},
    {&ops::IsInf::info, export_float_test, "IsInf"},
    {&ops::IsNan::info, export_float_test, "IsNaN"},
    {&ops::LeftShift::info, export_shift, "Pow, Mul"},
    {&ops::Less::info, export_comparison, "Less"},
    {&ops::LessEqual::info, export_comparison, "LessOrEqual"},
    {&ops::Log::info, export_same, "Log"},
    {&ops::Log1p::info, export_log1p, "Add, Div, Equal, Log, Sub, Where"},
    {&ops::Logaddexp::info, export_logaddexp, "Max, Softplus"},
    {&ops::LogicalAnd::info, export_same, "And"},
    {&ops::LogicalNot::info, export_same, "Not"},
    {&ops::LogicalOr::info, export_same, "Or"},
    {&ops::LogicalXor::info, export_same, "Xor"},
    {&ops::Maximum::info, export_extreme, "Max"},
    {&ops::Minimum::info, export_extreme, "Min"},
    {&ops::Mod::info, export_mod, "Mod"},
    {&ops::Mul::info, export_arithmetic, "Mul"},
    {&ops::Neg::info, export_neg, "Neg"},
    {&ops::NotEqual::info, export_not_equal, "Equal, Not"},
    {&ops::Pow::info, export_pow, "Pow"},
    {&ops::Reciprocal::info, export_same, "Reciprocal"},
    {&ops::RightShift::info, export_shift, "Pow, Div"},
    {&ops::Round::info, export_round, "Floor, Sign"},
    {&ops::RoundToEven::info, export_rounding, "Round"},
    {&ops::Rsqrt::info, export_rsqrt, "Sqrt, Reciprocal"},
    {&ops::Sigmoid::info, export_same, "Sigmoid"},
    {&ops::Sign::info, export_same, "Sign"},
    {&ops::Sin::info, export_same, "Sin"},
    {&ops::Sinh::info, export_same, "Sinh"},
    {&ops::Softplus::info, export_same, "Softplus"},
    {&ops::Sqrt::info, export_same, "Sqrt"},
    {&ops::Square::info, export_square, "Mul"},
    {&ops::Sub::info, export_arithmetic, "Sub"},
    {&ops::Tan::info, export_same, "Tan"},
    {&ops::Tanh::info, export_same, "Tanh"},
    {&ops::Where::info, export_same, "Where"},
};

}  // namespace

ExportRows elementwise_rows() { return export_rows; }

}  // namespace mge::to_onnx

namespace mge::onnx {

// Operators of ONNX that are one of ours. Those that need more are in
// model/import/onnx/operators/elementwise.cpp.
ImportRows elementwise_operator_rows() {
    static constexpr ImportRow rows[] = {
        {"Abs", one<ops::abs>},
        {"Acos", one<ops::acos>},
        {"Acosh", one<ops::acosh>},
        {"Asin", one<ops::asin>},
        {"Asinh", one<ops::asinh>},
        {"Atan", one<ops::atan>},
        {"Atanh", one<ops::atanh>},
        {"BitwiseAnd", of_two<ops::bitwise_and>, 18},
        {"BitwiseNot", one<ops::bitwise_not>, 18},
        {"BitwiseOr", of_two<ops::bitwise_or>, 18},
        {"BitwiseXor", of_two<ops::bitwise_xor>, 18},
        {"Ceil", one<ops::ceil>},
        {"Cos", one<ops::cos>},
        {"Cosh", one<ops::cosh>},
        {"Erf", one<ops::erf>, 9},
        {"Exp", one<ops::exp>},
        {"Floor", one<ops::floor>},
        {"GreaterOrEqual", of_two<ops::greater_equal>, 12},
        {"HardSwish", one<ops::hswish>, 14},
        {"IsNaN", one<ops::isnan>, 9},
        {"LessOrEqual", of_two<ops::less_equal>, 12},
        {"Log", one<ops::log>},
        {"Neg", one<ops::neg>},
        {"Not", one<ops::logical_not>, 1},
        {"Reciprocal", one<ops::reciprocal>},
        {"Round", one<ops::round_to_even>, 11},
        {"Sigmoid", one<ops::sigmoid>},
        {"Sin", one<ops::sin>},
        {"Sinh", one<ops::sinh>},
        {"Softplus", one<ops::softplus>},
        {"Sqrt", one<ops::sqrt>},
        {"Tan", one<ops::tan>},
        {"Tanh", one<ops::tanh>},
        {"com.microsoft.Gelu", one<ops::gelu>, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
